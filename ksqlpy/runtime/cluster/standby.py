"""A standby: it waits while another server runs the service, gets ready meanwhile, and takes over.

It has the service when ``ownership.py`` says so. ``readiness.py`` tells the active server that it is ready.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.cluster.warm_ups import WarmUps
from ksqlpy.runtime.query_specs import Planned, QuerySpecs
from ksqlpy.runtime.scratch import Scratch
from ksqlpy.spark.spec import QuerySpec

__all__ = ["ColdStandby", "Standby"]

log = logging.getLogger(__name__)

LOOK_SECONDS = 3.0
"""Time between looks at its executors and at the queries of the service."""


class ColdStandby:
    """It gets nothing ready."""

    def wait(self, connecting: threading.Thread, foreseen: Callable[[], Sequence[Planned]], stack: ExitStack) -> None:
        """Waits until ``connecting`` has the service.

        ``foreseen``: the queries that it would start; ``stack`` ends what goes on of it.
        """
        connecting.join()


class Standby(ColdStandby):
    """It is warm by then, driver and executors."""

    def __init__(
        self, brokers: Brokers, fits: Callable[[QuerySpec], bool], specs: QuerySpecs,
        warm_ups: WarmUps, scratch: Scratch, progress: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._brokers, self._fits, self._specs = brokers, fits, specs
        self._warm_ups, self._scratch, self._progress = warm_ups, scratch, progress
        self._rehearsed: tuple[Sequence[Planned], Sequence[QuerySpec]] = ([], [])

    def wait(self, connecting: threading.Thread, foreseen: Callable[[], Sequence[Planned]], stack: ExitStack) -> None:
        while connecting.is_alive() and not self._brokers.standing_by.is_set():
            connecting.join(0.1)
        if connecting.is_alive():
            stack.callback(self._scratch.close)
            stack.callback(self._warm_ups.stop)
            while connecting.is_alive():
                ready = self._get_ready(lambda: not connecting.is_alive(), foreseen)
                self._brokers.stand_ready(ready=ready and connecting.is_alive())
                connecting.join(LOOK_SECONDS)
            self._brokers.stand_ready(ready=False)
        connecting.join()

    def _get_ready(self, over: Callable[[], bool], foreseen: Callable[[], Sequence[Planned]]) -> bool:
        """Warms up what is not warm yet; says when all is, and returns whether it is."""

        def specs() -> Sequence[QuerySpec]:
            planned = foreseen()
            if planned is not self._rehearsed[0]:  # the same list as long as nothing changes
                self._rehearsed = planned, [self._specs.persistent(*p) for p in planned]
            return list(filter(self._fits, self._rehearsed[1]))  # others would wait for slots, and all with them

        try:
            if self._warm_ups.stand_by(over, specs):
                self._progress("ready to take over: another server runs this service")
                return True
        except Exception as e:  # whatever it is, the next look may find the world in order again
            log.info("the standby is not warm yet: %s", e)
        return False
