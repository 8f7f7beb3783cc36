"""When a server on a cluster starts a spare JVM for its driver: when all queries have run for a while."""

from __future__ import annotations

import time
from collections.abc import Callable

from ksqlpy.spark.session import keep_spare
from ksqlpy.spark.spare import Spare

__all__ = ["REST", "NoSpare", "SpareDriver"]

REST = 60.0
"""Seconds for which all queries run before a spare is started; twice as long each time it has failed.

A driver that has just started has code to compile, and its executors are warmed up.
"""


class NoSpare:
    """An engine that keeps none."""

    def look(self, *, at_rest: bool) -> None:
        """To be called about once a second. ``at_rest``: whether there are queries, and all of them run."""

    def taken(self) -> None:
        """There is another driver."""

    def close(self) -> None:
        """Ends the spare."""


class SpareDriver(NoSpare):
    """One spare at a time, for the next session of this process."""

    def __init__(
        self,
        make: Callable[[], Spare],
        keep: Callable[[Spare | None], None] = keep_spare,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make, self._keep, self._clock = make, keep, clock
        self._spare: Spare | None = None
        self._rest = REST
        self._since = clock()

    def look(self, *, at_rest: bool) -> None:
        now = self._clock()
        if self._spare is not None and self._spare.over:  # it could not be started, or was killed
            self._spare, self._rest, self._since = None, 2 * self._rest, now
        if not at_rest:
            self._since = now
        elif self._spare is None and now - self._since >= self._rest:
            self._spare = self._make()
            self._keep(self._spare)

    def taken(self) -> None:
        self._spare, self._rest, self._since = None, REST, self._clock()

    def close(self) -> None:
        self._keep(None)
