"""The watch over Spark's JVM and its queries, which notices a death and has it repaired."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.recovery.restart import Restart
from ksqlpy.runtime.recovery.topic_changes import follow_partitions
from ksqlpy.spark.writers import forget_ended

__all__ = ["Watch"]

log = logging.getLogger(__name__)

WATCH_SECONDS = 1.0
"""Time between looks at JVM, executors and queries."""

DEATH_SECONDS = 0.1
"""Time in which it is noticed that the JVM's process has ended."""

NOTE_EVERY = 5
"""So many looks between looks at the partitions of topics and the checkpoints of queries."""


class Watch:
    """A thread that looks about once a second.

    ``restart``: of what it watches over; ``query_ids``: of the persistent queries that have not ended.
    """

    def __init__(self, brokers: Brokers, restart: Restart, query_ids: Callable[[], set[str]]) -> None:
        self._brokers, self._restart, self._query_ids = brokers, restart, query_ids
        self._driver, self._queries, self._lock = restart.driver, restart.queries, restart.lock
        self._refused = set[str]()
        """Ids of queries that have ended, whose producers the brokers do not let be ended."""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(self, stack: ExitStack) -> None:
        """Watches until ``stack`` closes."""
        self._thread.start()
        stack.callback(self._join)
        stack.callback(self._ended.set)

    def _join(self) -> None:
        """Waits for the watch; not when Spark is ended, as then only brokers that are away can hold it."""
        end = time.monotonic() + 60
        while self._thread.is_alive() and time.monotonic() < end and not self._driver.exited:
            self._thread.join(0.2)

    def _run(self) -> None:
        """Sees to it, until the engine stops, that the JVM is there, and notes what Spark does not."""
        looked = deaths = 0
        while not self._ends():
            looked += 1
            try:
                if self._brokers.lost:
                    log.error("%s", self._brokers.loss())
                    self._queries.stop_all()
                    return
                if self._driver.dead:
                    deaths += 1
                    if not self._brokers.hand_over():
                        self._restart.after_death()
                elif self._restart.pending:  # brokers were away
                    self._restart.run_queries()
                else:
                    self._restart.cluster.executors.look(self._queries, self._lock)
                    self._restart.try_suspects()
                    if looked % NOTE_EVERY == 0:
                        deaths = 0
                        self._look_at_topics()
            except Exception as e:  # whatever it is, the next look may find the world in order again
                log.warning("the watch over queries: %s", e)
                self._queries.tell(e)
                self._ended.wait(min(30, deaths))

    def _ends(self) -> bool:
        """Waits for the next look, which is due at once when the JVM has died; whether the watch is over."""
        end, died = time.monotonic() + WATCH_SECONDS, self._driver.exited
        while not self._ended.wait(DEATH_SECONDS) and time.monotonic() < end:
            if not died and self._driver.exited:
                break
        return self._ended.is_set()

    def _look_at_topics(self) -> None:
        self._queries.note_sinks(self._brokers.kafka)
        with self._lock:
            follow_partitions(self._queries, self._brokers.kafka)
            self._queries.start_refused()
            self._forget_ended()

    def _forget_ended(self) -> None:
        """Removes the notes that ended queries have left in the register of producers."""
        register = self._queries.register
        if register is not None:
            known = {*self._query_ids(), *self._refused}
            self._refused |= forget_ended(self._driver.session, register, self._brokers.kafka, known)
