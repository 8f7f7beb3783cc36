"""What functions in Python have to say, told once a minute: each row may have something to say.

The JVM has the same rule, ``jvm/python/Failures.java``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ["Seldom"]

PAUSE = 60.0
"""Seconds from one that is told to the next of its kind."""

_MOST_KINDS = 1000


class Seldom:
    """Any thread may ask. ``clock``: the time in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kinds: dict[tuple[str, str], tuple[float, int]] = {}

    def more(self, function: str, kind: str) -> int | None:
        """Whether to tell one: how many of its kind have not been told since the last; None if it is not to be told."""
        with self._lock:
            if len(self._kinds) > _MOST_KINDS:
                self._kinds.clear()
            now = self._clock()
            told, more = self._kinds.get((function, kind), (now - PAUSE, 0))
            if now - told < PAUSE:
                self._kinds[function, kind] = told, more + 1
                return None
            self._kinds[function, kind] = now, 0
            return more
