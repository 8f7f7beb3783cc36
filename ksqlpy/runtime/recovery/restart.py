"""The restart after a death of Spark's JVM: another JVM, and in it all queries from their checkpoints."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from ksqlpy.runtime.cluster.choice import Cluster
from ksqlpy.runtime.driver import Driver
from ksqlpy.runtime.queries import Queries
from ksqlpy.runtime.recovery.suspects import Suspects
from ksqlpy.spark.session import died_by_itself, worked_on

__all__ = ["Restart"]

log = logging.getLogger(__name__)


@dataclass
class Restart:
    """Restarts the queries of one engine; for one thread.

    ``lock``: that of the catalog, which must not meet a restart; ``run_all``: starts the queries that do not run.
    ``pending``: whether those of a JVM that is gone wait still.
    """

    driver: Driver
    queries: Queries
    suspects: Suspects
    cluster: Cluster
    lock: AbstractContextManager[object]
    run_all: Callable[[], None]
    pending: bool = False

    def after_death(self) -> None:
        """Starts the JVM again, which was killed or ran out of memory, and its queries.

        The lock is not held while it starts: queries can be paused and ended meanwhile. Who would start one waits for
        :attr:`Driver.there`.
        """
        log.error("Spark's JVM is gone: it is started again, and all queries with it")
        begun = time.monotonic()
        try:
            with self.lock:
                self.driver.there.clear()
                self.suspects.died(worked_on(), own=died_by_itself())
                needed = self.queries.slots
                self.pending = True
                self.queries.abandon()
            self.cluster.warm_ups.forget()
            self.driver.restart()
            self.cluster.spare.taken()
            started = time.monotonic()
            self.cluster.executors.wait_for_slots(needed)
            log.info("Spark's JVM took %.1f s, its slots %.1f s more", started - begun, time.monotonic() - started)
            with self.lock:
                self.queries.use(self.driver.session)
                self.run_queries()
        finally:
            self.driver.there.set()

    def run_queries(self) -> None:
        """Starts the queries of a JVM that is gone from their checkpoints; what fails is tried at the next look."""
        with self.lock:
            self.run_all()
            self.pending = False

    def try_suspects(self) -> None:
        """Goes on with queries that may end the JVM, which are started one after the other."""
        if self.suspects.tries:
            with self.lock:
                if self.suspects.look(worked_on(), at_rest=self.queries.settled):
                    self.run_all()
