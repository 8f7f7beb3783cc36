"""Levels of loggers by the property ``ksqlpy.log.levels``, in this process and in those that hear of a change."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

__all__ = ["LEVELS", "Levels", "parsed"]

_PYTHON = {
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "OFF": logging.CRITICAL + 10,
}

SECRETIVE = ("hpack", "py4j")
"""Loggers that write logins and passwords at DEBUG, as they are in headers and calls; they say no more than INFO."""


def parsed(text: str) -> dict[str, str]:
    """The value of the property: levels by the names of loggers."""
    return dict(pair.split("=") for pair in text.split(",") if pair)


class Levels:
    """The levels of a process. Others, such as Java's, are told of a change. ``form``: of lines, text or json."""

    def __init__(self) -> None:
        self.form = "text"
        self._lock = threading.Lock()
        self._named: Mapping[str, str] = {}
        self._before: dict[str, int] = {}
        self._told: list[Callable[[Mapping[str, str]], None]] = []

    @property
    def now(self) -> Mapping[str, str]:
        """Those that are set."""
        return self._named

    def set(self, named: Mapping[str, str]) -> None:
        """Sets these; loggers that were named before, and are not now, have the levels again that they had."""
        with self._lock:
            for name, before in self._before.items():
                _logger(name).setLevel(before)
            self._before = {name: _logger(name).level for name in named}
            for name, level in named.items():
                _logger(name).setLevel(_PYTHON[level])
            for name in SECRETIVE:
                if _logger(name).getEffectiveLevel() < logging.INFO:
                    self._before.setdefault(name, _logger(name).level)
                    _logger(name).setLevel(logging.INFO)
            self._named = dict(named)
            told = list(self._told)
        for tell in told:
            tell(named)

    def tell(self, listener: Callable[[Mapping[str, str]], None]) -> Callable[[], None]:
        """Has a function called at each change; gives one that ends it."""
        with self._lock:
            self._told.append(listener)

        def end() -> None:
            with self._lock:
                self._told.remove(listener)

        return end


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == "root" else name)


LEVELS = Levels()
"""Those of this process."""
