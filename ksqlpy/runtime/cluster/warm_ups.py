"""When what is warmed up: the driver and its executors at a start, executors that come later once queries are at rest.

So an executor that replaces a lost one, or is there as a spare, is warm before the tasks of queries need it. A standby
warms up all it has, and rehearses the queries that it would take over, again when executors or queries are others.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence, Set

from ksqlpy.spark.spec import QuerySpec
from ksqlpy.spark.warmup import WarmUp

__all__ = ["REST", "NoWarmUps", "WarmUps"]

log = logging.getLogger(__name__)

REST = 8.0
"""Seconds for which all queries run and no executor comes, before new ones are warmed up: recovery comes first."""


class NoWarmUps:
    """They are switched off: ``ksqlpy.warm.up``."""

    def begin(self, busy: Callable[[], bool]) -> None:
        """Warms up the driver and all executors that are there."""

    def look(self, at_rest: Callable[[int], bool]) -> None:
        """Warms up executors that came, when it is time; to be called about once a second.

        ``at_rest``: whether all queries run, and have so many task slots to spare.
        """

    def forget(self) -> None:
        """Nothing is warm any more: the driver is another, which counts its executors from 0 again."""

    def stop(self) -> None:
        """Ends one that runs."""


class WarmUps(NoWarmUps):
    """One warm-up at a time."""

    def __init__(
        self,
        make: Callable[[Callable[[], bool], int, bool, Sequence[QuerySpec]], WarmUp],
        executors: Callable[[], Set[str]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``make``: a warm-up of whether there is better to do, the number of executors, whether of the driver too, and
        the queries that are rehearsed.

        ``executors``: the ids of those that are there; of one machine there are none.
        """
        self._make, self._executors, self._clock = make, executors, clock
        self._running: WarmUp | None = None
        self._taking_part: Set[str] = frozenset()
        self._warm: set[str] = set()
        self._rest = REST
        self._seen: tuple[Set[str], float] = (frozenset(), 0.0)
        self._seen_by_standby: tuple[Set[str], tuple[QuerySpec, ...]] | None = None
        self._stood: tuple[Set[str], tuple[QuerySpec, ...]] | None = None
        """For which executors and queries a standby is warm, or was begun to be."""

    def begin(self, busy: Callable[[], bool]) -> None:
        self._start(busy, self._executors(), driver=True)

    def stand_by(self, over: Callable[[], bool], queries: Callable[[], Sequence[QuerySpec]]) -> bool:
        """Warms up a standby as far as it is not yet; to be called now and then. Whether it is ready to take over.

        ``over``: whether it stands by no longer; ``queries``: those that it would take over.
        """
        if self._running is not None and not self._running.ended:
            return False
        before, state = self._seen_by_standby, (self._executors(), tuple(queries()))
        self._seen_by_standby = state
        if state == self._stood:
            return True
        if state != before:  # executors come one after the other
            return False
        (executors, wanted), known = state, self._stood
        new = [q for q in wanted if known is None or executors != known[0] or q not in known[1]]
        self._stood = state
        if known is not None and executors == known[0] and not new:  # some were dropped
            return True
        self._start(over, executors, driver=True, rehearsed=new)
        return False

    def look(self, at_rest: Callable[[int], bool]) -> None:
        if self._running is not None:
            if not self._running.ended:
                return
            # What keeps it from its end, such as a folder that cannot be used, is there the next time, too.
            self._rest = REST if self._running.complete else 2 * self._rest
            if self._running.complete:
                self._warm.update(self._taking_part)
                if self._taking_part:
                    log.info("warm executors: %s", ", ".join(sorted(self._taking_part)))
            self._running, self._seen = None, (frozenset(), 0.0)
        there, now = self._executors(), self._clock()
        known, since = self._seen
        if there != known or there <= self._warm or not at_rest(len(there)):
            self._seen = there, now
        elif now - since >= self._rest:
            self._start(lambda: not at_rest(0), there, driver=False)

    def forget(self) -> None:
        self._warm.clear()
        self._taking_part = frozenset()

    def stop(self) -> None:
        if self._running is not None:
            self._running.stop()

    def _start(
        self, busy: Callable[[], bool], executors: Set[str], *, driver: bool, rehearsed: Sequence[QuerySpec] = ()
    ) -> None:
        self._taking_part = executors
        self._running = self._make(busy, max(1, len(executors)), driver, rehearsed)
        self._running.start()
