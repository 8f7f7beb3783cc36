"""What functions in Python have to say, told once a minute: each row may have something to say.

The JVM has the same rule, ``jvm/python/Failures.java``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ["PRINTS", "Seldom"]

PAUSE = 60.0
"""Seconds from one that is told to the next of its kind."""

PRINTS = ""
"""The kind of what is printed: no class has that name."""

_MOST_KINDS = 20
"""Of a function: names of classes may be anything."""

_MOST_FUNCTIONS = 1000
_OTHERS = " "


class Seldom:
    """Any thread may ask. ``clock``: the time in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._functions: dict[str, dict[str, tuple[float, int]]] = {}

    def more(self, function: str, kind: str) -> int | None:
        """Whether to tell one: how many of its kind have not been told since the last; None if it is not to be told."""
        with self._lock:
            if len(self._functions) > _MOST_FUNCTIONS:
                self._functions.clear()
            kinds = self._functions.setdefault(function, {})
            key = kind if len(kinds) < _MOST_KINDS or kind in kinds or kind == PRINTS else _OTHERS
            now = self._clock()
            told, more = kinds.get(key, (now - PAUSE, 0))
            if now - told < PAUSE:
                kinds[key] = told, more + 1
                return None
            kinds[key] = now, 0
            return more
