"""One run of Spark: a phase of a query, from the plan given to Spark to the end of Spark's query."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from ksqlpy.errors import EngineProblem
from ksqlpy.spark.checkpoint import Checkpoint
from ksqlpy.spark.compile import Distribution, compile_plan
from ksqlpy.spark.figures import follow
from ksqlpy.spark.gateway import jvm_of, scala_query
from ksqlpy.spark.kafka import Kafka
from ksqlpy.spark.once import Offsets, Tail
from ksqlpy.spark.output import InStep, kafka_output, undone
from ksqlpy.spark.query import tails
from ksqlpy.spark.query.report import Phase, QueryReport
from ksqlpy.spark.query.sink_notes import SinkNotes
from ksqlpy.spark.query_status import State
from ksqlpy.spark.session import admit_expiring_state
from ksqlpy.spark.source import source_records
from ksqlpy.spark.spec import QuerySpec
from ksqlpy.spark.start_limit import StartLimit
from ksqlpy.spark.tasks import tasks_run
from ksqlpy.spark.writers import Writers

__all__ = ["Parts", "SparkHandle", "SparkRun"]

log = logging.getLogger(__name__)

PLANNING = 30.0
"""Seconds after which the next query is planned, though the tasks of this one do not run yet."""

PROVEN = 30.0
"""Seconds after which a query that failed counts as running again, if it commits no batch sooner."""


class SparkHandle:
    """Spark's query of the present run, which another thread may stop.

    ``stopping``: set when the query is to end; no run starts after that.
    """

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.query: StreamingQuery | None = None
        self._lock = threading.Lock()

    def start(self, begin: Callable[[], StreamingQuery]) -> StreamingQuery | None:
        """Starts a run; None if the query is to stop."""
        with self._lock:
            if self.stopping.is_set():
                return None
            self.query = begin()
            return self.query

    def stop(self) -> None:
        """Stops the run; raises what PySpark raises of a JVM that does not answer."""
        self.stopping.set()
        with self._lock:
            query = self.query
        if query is not None:
            query.stop()


@dataclass(frozen=True)
class Parts:
    """What the lives of one query share.

    ``start_limit``: a run holds a slot of it for as long as Spark plans; ``writers``: the producers of its results.
    """

    session: SparkSession
    checkpoint: Checkpoint
    writers: Writers
    start_limit: StartLimit
    report: QueryReport
    notes: SinkNotes
    handle: SparkHandle


class SparkRun:
    """``phase``: it is the run of that phase; ``tail``: results that are there and are left out, if any."""

    def __init__(self, parts: Parts, spec: QuerySpec, phase: Phase, tail: Tail | None) -> None:
        self._parts, self._spec, self._phase, self._tail = parts, spec, phase, tail
        self._session, self._checkpoint, self._writers = parts.session, parts.checkpoint, parts.writers
        self._report, self._stopping = parts.report, parts.handle.stopping
        self._live = phase is Phase.LIVE

    def run(self) -> None:
        """Returns when it has ended; a live one only when it is stopped. Raises what Spark raises, and KsqlError."""
        notes = self._parts.notes
        with contextlib.ExitStack() as slot:
            slot.enter_context(self._parts.start_limit.slot(self._stopping))
            begun = time.monotonic()
            query = self._start()
            if query is None:
                return
            given = time.monotonic()
            self._report.phase = self._phase
            notes.in_use = self._tail if self._live else None
            try:
                planned = self._wait_for_first_tasks(query)
                if self._live:
                    self._report.live.set()
                slot.close()
                took = given - begun, time.monotonic() - given
                name = self._spec.id, self._phase.value
                log.info("query %s, %s: given to Spark in %.1f s, planned in %.1f s", *name, *took)
                if self._live:
                    self._wait_for_proof(query, planned)
                query.awaitTermination()
            finally:
                notes.in_use = None
                self._forget_sessions(query)
        if self._live and not self._stopping.is_set():
            raise EngineProblem("query-ended", "the query ended by itself")

    def _forget_sessions(self, query: StreamingQuery) -> None:
        """Takes off Spark's context what the sessions of an ended query have left there."""
        jvm = jvm_of(self._session)
        try:
            jvm.ksqlpy.internals.Sessions.forget(scala_query(query))
        except (Py4JError, OSError) as e:
            log.debug("query %s: its sessions stay registered: %s", self._spec.id, e)

    def _wait_for_first_tasks(self, query: StreamingQuery) -> bool:
        """Waits until Spark is done with planning it, and says so; not for long: brokers may keep it from that."""
        end = time.monotonic() + PLANNING
        while query.isActive and not self._is_planned(query):
            if time.monotonic() > end or self._stopping.wait(0.02):
                return False
        return True

    def _is_planned(self, query: StreamingQuery) -> bool:
        """Whether tasks of it run, or it is a query of micro-batches without records, or until its next batch."""
        return tasks_run(self._session, self._spec.id) or query.status["message"].startswith("Waiting")

    def _wait_for_proof(self, query: StreamingQuery, planned: bool) -> None:
        """Sets RUNNING once the query is planned and has passed the point of its last failure."""
        tried, begun = self._report.status.tries > 0, time.monotonic()
        last = self._checkpoint.last_commit if tried else None
        while not (planned and not (tried and self._may_fail_again(query, begun, last))):
            if query.awaitTermination(1 if planned else 0.2) or self._stopping.is_set():  # type: ignore[arg-type]  # takes fractions
                return
            planned = planned or self._is_planned(query)
        self._report.enter(State.RUNNING)

    def _may_fail_again(self, query: StreamingQuery, begun: float, last: int | None) -> bool:
        """Whether a query that failed has not read on since: it committed no batch, and has not run for long."""
        idle = query.status["message"].startswith("Waiting")
        return not idle and time.monotonic() - begun < PROVEN and self._checkpoint.last_commit == last

    def _start(self) -> StreamingQuery | None:
        """Gives Spark the query of the phase; None if it is to stop."""
        if self._stopping.is_set():
            return None
        spec, session = self._spec, self._session.newSession()
        session.conf.set("spark.sql.shuffle.partitions", str(spec.shuffle_partitions))
        if self._live and spec.batch_ms is None:
            admit_expiring_state(session)
        writer = self._writer(session)
        self._writers.check()  # else it would write into the checkpoint of the engine that has the service

        def begin() -> StreamingQuery:
            session.sparkContext.setLocalProperty("ksqlpy.query", spec.id)  # as Tasks.java knows its tasks
            self._writers.set_task_properties(spec)
            query = writer.start()
            follow(session, spec.id, query)
            return query

        return self._parts.handle.start(begin)

    def _writer(self, session: SparkSession) -> DataStreamWriter:
        """From the source to the sink, with the trigger of the phase."""
        spec, tail, live, writers = self._spec, self._tail, self._live, self._writers
        end = None if live else self._read_before()
        one_jvm = writers.shared
        # Tasks side by side keep to the order of time in one JVM alone; executors, which tell each other what is on its
        # way between tasks that run at the same time, do so behind one that reads all.
        ordered = spec.by_time if one_jvm else spec.batch_ms is None and (spec.by_time or spec.idle_ms >= 0)
        in_step = live and spec.shuffled and ordered
        records = undone(spec.plan, source_records(session, spec, skipping=not live, end=end, by_time=in_step), tail)
        distribution = Distribution(
            spec.shuffle_partitions,
            spec.shuffled if live else spec.order_varies,
            in_step=in_step,
            source_partitions=len(spec.offsets[spec.plan.relations[0].source.topic]),
            topic_partitions=tuple(spec.partitions[t] for t in spec.plan.topics) if spec.exactly_once else (),
        )
        # Live, rows come as they come; what is left to do then is to leave out the results that are there.
        letters = not isinstance(spec.sink, str)
        rows = compile_plan(spec.plan, records, distribution, None if live else tail, name=spec.id, letters=letters)
        output = kafka_output(
            spec.plan, rows, spec.id, spec.sink, spec.dead_topic, at=spec.exactly_once, tail=tail,
            in_order=not live and spec.shuffled,
            in_step=self._last_step() if in_step else None,
        )  # fmt: skip
        writer = (
            output.writeStream.format(writers.ordered if in_step and one_jvm else writers.format)
            .queryName(spec.id if live else f"{spec.id} ({self._phase.value})")
            .options(**writers.options(spec))
            .option("checkpointLocation", self._checkpoint.spark)
            .outputMode("update")
        )
        # Real-time mode writes the commits of queries without state while the next batch runs. Notes of the sink's ends
        # rely on the opposite (``sink_notes.py``), and so do steps of the JVM, whose state Spark does not know.
        if spec.exactly_once or spec.plan.partition_history:
            writer = writer.option("asyncProgressTrackingEnabled", "false")
        if not live:
            return writer.trigger(availableNow=True)
        if spec.batch_ms is not None:
            return writer.trigger(processingTime=f"{spec.batch_ms} milliseconds")
        return writer.trigger(realTime=f"{_apart(spec)} milliseconds")  # type: ignore[call-overload,no-any-return]  # newer than its types

    def _last_step(self) -> InStep | None:
        """On a cluster one task writes what several have made."""
        stages = self._spec.plan.stages
        return None if self._writers.shared or not stages else InStep(stages, self._spec.shuffle_partitions)

    def _read_before(self) -> Offsets | None:
        """Where a recovery ends: behind the last records that the results in the tail had seen, and what was deleted.

        What comes behind has no result. It is read live, by time: the tasks of a batch would each write at their own
        pace, and queries behind would take results for late. None if results do not tell that.
        """
        spec, tail = self._spec, self._tail
        topics = spec.plan.told_by_results
        if not (spec.by_time and topics and spec.until is None):
            return None
        last = self._checkpoint.last_commit
        read = spec.offsets if last is None else self._checkpoint.offsets(last)
        first = Kafka(spec.connection).offsets({t: spec.partitions[t] for t in topics}, latest=False)
        ends = {t: {p: max(o, read.get(t, {}).get(p, o)) for p, o in first[t].items()} for t in topics}
        if tail is None:
            return ends
        highest = tails.highest(self._session, tail)
        seen = {(spec.plan.topics[topic], partition): offset for (topic, partition), offset in highest.items()}
        places = [(t, str(p)) for t in spec.plan.topics for p in range(spec.partitions[t])]
        if spec.plan.partition_history:
            for place, offset in zip(places, tails.farthest(self._session, tail), strict=False):
                seen[place] = max(offset, seen.get(place, -1))
        for (topic, partition), offset in seen.items():
            if topic in ends:
                ends[topic][partition] = max(ends[topic].get(partition, 0), offset + 1)
        return ends


def _apart(spec: QuerySpec) -> int:
    """The query's checkpoint interval: up to a tenth longer than asked, so that not all queries stop at once."""
    return spec.interval_ms + spec.interval_ms * (zlib.crc32(spec.id.encode()) % 100) // 1000
