"""What a JVM of Spark is started with."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Launch"]


_SECRET = re.compile(r"(?i)^spark\.hadoop\.|secret|password|token|access[.]?key|jaas|keystore[.]key")
"""Names of settings that may hold secrets; file systems have many names for theirs."""


@dataclass(frozen=True)
class Launch:
    """Settings of Spark, variables of the environment, and the folder for the JVM's own files.

    ``given``: the names of those settings that the user has set.
    """

    settings: Mapping[str, str]
    environment: Mapping[str, str]
    work: Path
    given: frozenset[str] = frozenset()

    @property
    def secrets(self) -> dict[str, str]:
        """Settings that must not stand on a command line, which all users of the machine can read."""
        return {n: value for n, value in self.settings.items() if n in self.given and _SECRET.search(n)}

    @property
    def open_settings(self) -> dict[str, str]:
        """All others."""
        hidden = self.secrets
        return {name: value for name, value in self.settings.items() if name not in hidden}

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
