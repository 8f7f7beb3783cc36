"""Records at a rate: each has its moment, counted from the first, so that no delay adds up."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Pacer"]


class Pacer:
    """Says when the next of some records is due.

    ``rate``: records a second; None: at once. ``clock`` gives seconds, ``sleep`` waits for some.
    """

    def __init__(
        self,
        rate: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.count = 0
        self._rate = rate
        self._clock = clock
        self._sleep = sleep
        self._began: float | None = None

    def wait(self, idle: Callable[[], object] = lambda: None) -> None:
        """Returns when the next record is due; if it must wait it calls ``idle`` first. After a delay it catches up."""
        if self._began is None:
            self._began = self._clock()
        if self._rate is not None:
            due = self._began + self.count / self._rate
            if due > self._clock():
                idle()
                while (left := due - self._clock()) > 0:
                    self._sleep(left)
        self.count += 1

    @property
    def seconds(self) -> float:
        """Seconds since the first record was due."""
        return 0.0 if self._began is None else self._clock() - self._began
