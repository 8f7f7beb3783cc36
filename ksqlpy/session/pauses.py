"""Pauses between attempts: each one longer than the one before, up to a bound."""

from __future__ import annotations

import threading
import time

__all__ = ["Pauses"]

_FIRST, _LONGEST = 0.1, 5.0
"""Seconds of the first pause, and of a pause at most."""

_CALM = 60.0
"""Seconds without an attempt after which the next pause is the first one again."""


class Pauses:
    """The pauses of what is tried again and again. To be used by one thread."""

    def __init__(self) -> None:
        self._next = _FIRST
        self._ended = time.monotonic()

    def wait(self, stopping: threading.Event) -> bool:
        """Waits for the next pause, or until the event is set; whether it goes on."""
        if time.monotonic() - self._ended > _CALM:
            self.reset()
        pause, self._next = self._next, min(_LONGEST, self._next * 2)
        stopped = stopping.wait(pause)
        self._ended = time.monotonic()
        return not stopped

    def reset(self) -> None:
        """An attempt has had success: the next pause is the first one again."""
        self._next = _FIRST
