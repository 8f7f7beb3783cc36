"""The life cycle of a query: it is started, restarted after a failure, stopped, or abandoned with its JVM."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ksqlpy.errors import EngineProblem, KsqlError
from ksqlpy.figures import Progress
from ksqlpy.request import QUERY
from ksqlpy.spark.checkpoint import Checkpoint, damage
from ksqlpy.spark.executors import Losses
from ksqlpy.spark.failure import Failure, failure_of, is_final
from ksqlpy.spark.figures import checkpoint_progress
from ksqlpy.spark.kafka import Kafka
from ksqlpy.spark.query.life import Life
from ksqlpy.spark.query.report import Phase, QueryReport
from ksqlpy.spark.query.sink_notes import SinkNotes
from ksqlpy.spark.query.spark_run import Parts, SparkHandle
from ksqlpy.spark.query_status import QueryStatus, State
from ksqlpy.spark.session import jvm_alive
from ksqlpy.spark.spec import QuerySpec
from ksqlpy.spark.start_limit import StartLimit
from ksqlpy.spark.writers import Writers

__all__ = ["RunningQuery"]

log = logging.getLogger(__name__)


class RunningQuery(QueryReport):
    """Starts, watches and stops one query. ``changed`` is called mostly from the query's own thread."""

    def __init__(
        self,
        session: SparkSession,
        spec: QuerySpec,
        changed: Callable[[RunningQuery], None],
        start_limit: StartLimit,
        writers: Writers,
    ) -> None:
        super().__init__(lambda: changed(self))
        self.checkpoint = Checkpoint(session, spec.checkpoint)
        self.handle = SparkHandle()
        self._given = spec
        self._replaced = spec.before
        self._life: Life | None = None
        self._writers = writers
        self._losses = Losses(session)
        self._notes = SinkNotes(session, spec, self.checkpoint, self)
        self._parts = Parts(session, self.checkpoint, writers, start_limit, self, self._notes, self.handle)
        self._thread = threading.Thread(target=self._run, name=f"query {spec.id}", daemon=True)

    @property
    def spec(self) -> QuerySpec:
        """That of its present life; before the first one as it was given."""
        life = self._life
        return self._given if life is None else life.spec

    @property
    def doing(self) -> str:
        """What it does when it runs, as people call it."""
        return "micro-batch" if self.phase is Phase.LIVE and self.spec.batch_ms is not None else self.phase.value

    def cut_off(self) -> None:
        """Gives up results that were not sent: another topic of the name of theirs must not get them."""
        self._writers.cut_off(self.spec)

    def note_sink(self, kafka: Kafka) -> None:
        """Notes where its sink ends, see :meth:`SinkNotes.look`."""
        self._notes.look(kafka)

    def progress(self) -> Progress:
        """How far its checkpoints are, while it runs."""
        runs = self.live.is_set() and self.state not in (State.ERROR, State.STOPPED)
        return checkpoint_progress(self.handle.query if runs else None, self.checkpoint)

    def start(self) -> None:
        """Begins to run, in a thread of its own."""
        self._thread.start()

    def stop(self, *, forget: bool = False) -> None:
        """Ends the query; returns when nothing of it runs any more. ``forget``: for good."""
        try:
            self.handle.stop()
        except (Py4JError, PySparkException, ConnectionError, OSError) as e:
            log.warning("query %s did not stop cleanly: %s", self.spec.id, failure_of(e).message)
        self._join(30)
        self._retire(forget)
        self._notes.end()
        self.status = QueryStatus(State.STOPPED)

    def _join(self, seconds: float) -> None:
        """Waits for its thread; not if the JVM is gone, as brokers that are away may hold it then, and nothing else."""
        end = time.monotonic() + seconds
        if self._thread is not threading.current_thread():
            while self._thread.is_alive() and time.monotonic() < end and jvm_alive():
                self._thread.join(timeout=0.2)

    def _retire(self, forget: bool) -> None:
        """Its producers write no more."""
        if self._thread.is_alive():
            return
        try:
            self._writers.end(self.spec, forget=forget)
        except (Py4JError, OSError, KsqlError) as e:
            log.debug("query %s: its producers stay noted: %s", self.spec.id, e)

    def abandon(self) -> None:
        """Forgets the query of a JVM that is gone; its thread ends by itself, and who reads a push query is told."""
        self.handle.stopping.set()
        self.failures.append(Failure(time.time(), "SYSTEM", "Spark's JVM is gone"))
        self.status = QueryStatus(State.ERROR)

    # ------------------------------------------------------------ its thread

    def _run(self) -> None:
        QUERY.set(self._given.id)
        self._run_until_stopped()

    def _run_until_stopped(self) -> None:
        failures, stopping = 0, self.handle.stopping
        while not stopping.is_set():
            begun = time.monotonic()
            try:
                self._losses.begin()
                self._try()
                return
            except Exception as e:  # whatever ends it must show as the query's state
                self.live.clear()
                if stopping.is_set() or not jvm_alive():
                    return  # the engine starts it again, in another JVM
                retry = self.spec.retry
                blameless = self.status.tries == 0 and self._losses.any()
                failures = 1 if blameless or time.monotonic() - begun > 2 * retry.longest else failures + 1
                failure = failure_of(damage(self.checkpoint.folder, e) or e)
                self.failures.append(failure)
                if is_final(e):
                    log.error("query %s has ended: %s", self.spec.id, failure.message)
                    self.enter(State.ERROR)
                    return
                self.restarts += 1
                wait = 0.0 if blameless else retry.wait(failures)
                log.error(
                    "query %s failed, next try in %.0f s: %s: %s", self.spec.id, wait, failure.kind, failure.message
                )
                self.enter(State.RETRYING, failures, time.time() + wait)
                stopping.wait(wait)
                self.enter(State.RETRYING, failures)

    def _try(self) -> None:
        """From the checkpoint to the end once; returns only when it is stopped."""
        replaced, self._replaced = self._replaced, None
        if replaced is not None:
            try:
                self._live(replaced)
            except EngineProblem as e:
                log.warning("query %s: records since the last checkpoint are read by the new plan: %s", replaced.id, e)
            finally:
                self._life = None
        self._live(replace(self._given, before=None))

    def _live(self, spec: QuerySpec) -> None:
        self._life = Life.begin(self._parts, spec)
        self._life.run()
