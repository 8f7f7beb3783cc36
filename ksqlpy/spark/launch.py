"""What a JVM of Spark is started with."""

from __future__ import annotations

import contextlib
import os
import threading
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
        """Sets the environment for the start of a JVM; not for longer, or others would take it for the user's.

        A driver and its spare may start at the same time: what was there before is set again after the last of them.
        """
        global _starting
        with _LOCK:
            for name, value in self.environment.items():
                _before.setdefault(name, os.environ.get(name))
                os.environ[name] = value
            _starting += 1
        try:
            yield
        finally:
            with _LOCK:
                _starting -= 1
                if _starting == 0:
                    _restore()


_LOCK = threading.Lock()
_before: dict[str, str | None] = {}
_starting = 0


def _restore() -> None:
    for name, value in _before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    _before.clear()
