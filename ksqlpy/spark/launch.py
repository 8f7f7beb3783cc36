"""What a JVM of Spark is started with."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Launch"]


@dataclass(frozen=True)
class Launch:
    """Settings of Spark, variables of the environment, and the folder for the JVM's own files."""

    settings: Mapping[str, str]
    environment: Mapping[str, str]
    work: Path

    @contextlib.contextmanager
    def environ(self) -> Iterator[None]:
        """Has the environment for the start of a JVM; not for longer, or others would take it for the user's."""
        wanted = self.environment
        before = {name: os.environ.get(name) for name, value in wanted.items() if os.environ.get(name) != value}
        os.environ.update(wanted)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
