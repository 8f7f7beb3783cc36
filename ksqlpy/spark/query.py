"""One running query: a Kafka source over all its topics, a plan, a Kafka sink, a checkpoint.

Where a plan's backlog must be read in event-time order, a first micro-batch reads it, sorted, and commits; then the
query goes live in real-time mode on the same checkpoint.
"""

from __future__ import annotations

import json
import logging
import shutil
import threading
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from ksqlpy.catalog import Source
from ksqlpy.errors import EngineProblem
from ksqlpy.plan import Plan
from ksqlpy.plan.nodes import Aggregate, TableFilter, TableJoin, nodes_of
from ksqlpy.spark.compile import Compiler, Distribution, kafka_output
from ksqlpy.spark.kafka import end_offsets

__all__ = ["QuerySpec", "RunningQuery", "slots"]

log = logging.getLogger(__name__)

Offsets = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class QuerySpec:
    """All that a query needs to run.

    ``sink``: a source, or the topic of a transient query. ``offsets``: first offset to read, by topic and partition.
    ``partitions``: of the source topics. ``shuffle_partitions``: of every shuffle; part of the checkpoint.
    ``checkpoint``: folder of the checkpoint; ``interval_ms``: time between checkpoints.
    """

    id: str
    plan: Plan
    sink: Source | str
    bootstrap: str
    offsets: Offsets
    partitions: Mapping[str, int]
    shuffle_partitions: int
    dead_topic: str
    checkpoint: Path
    interval_ms: int

    @property
    def shuffled(self) -> bool:
        """Whether a stateful step shuffles: not with one source partition in all."""
        return sum(self.partitions.values()) > 1


def slots(plan: Plan, partitions: Mapping[str, int], shuffle_partitions: int) -> int:
    """How many task slots the query holds for as long as it runs: its source partitions and every shuffle's."""
    sources = sum(partitions.values())
    if sources <= 1:
        return max(sources, 1)
    stages = 0
    for node in nodes_of(plan.root):
        if isinstance(node, TableJoin):
            stages += 1
        elif isinstance(node, Aggregate):
            stages += 2 if node.window is not None else 1
        elif isinstance(node, TableFilter) and not isinstance(node.input, Aggregate):
            stages += 1
    return sources + stages * shuffle_partitions


class RunningQuery:
    """Starts, watches and stops one query.

    ``state``: STARTING, RUNNING, ERROR or STOPPED; ``error`` says why it is in ERROR. ``changed`` is called, from the
    query's own thread, whenever the state changes.
    """

    def __init__(self, session: SparkSession, spec: QuerySpec, changed: Callable[[RunningQuery], None]) -> None:
        self.spec = spec
        self.state = "STARTING"
        self.error: str | None = None
        self._changed = changed
        self._session = session
        self._query: StreamingQuery | None = None
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"query {spec.id}", daemon=True)
        self.live = threading.Event()

    def start(self) -> None:
        """Begins to run, in a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the query; returns when nothing of it runs any more."""
        self._stopping.set()
        with self._lock:
            query = self._query
        if query is not None:
            try:
                query.stop()
            except (Py4JJavaError, PySparkException, ConnectionError, OSError) as e:
                log.warning("query %s did not stop cleanly: %s", self.spec.id, _reason(e))
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout=30)
        self.state = "STOPPED"

    def _run(self) -> None:
        try:
            if not _commits(self.spec.checkpoint):
                # Killed before its first commit a query cannot start again from what it left; nothing is lost, since
                # it begins at its first offsets.
                shutil.rmtree(self.spec.checkpoint, ignore_errors=True)
                if self.spec.plan.ordered_backlog and self._has_backlog():
                    self._go(sorted_backlog=True)
            if not self._stopping.is_set():
                self._go(sorted_backlog=False)
        except Exception as e:  # whatever ends the thread must show as the query's state
            if not self._stopping.is_set():
                self.error = _reason(e)
                log.error("query %s failed: %s", self.spec.id, self.error)
                self._set("ERROR")

    def _go(self, *, sorted_backlog: bool) -> None:
        """Runs one Spark query to its end: the backlog's micro-batch, or real-time mode until it is stopped."""
        spec = self.spec
        session = self._session.newSession()
        session.conf.set("spark.sql.shuffle.partitions", str(spec.shuffle_partitions))
        records = _records(session, spec, headers=not spec.plan.stateful)
        distribution = Distribution(spec.shuffle_partitions, spec.shuffled, sorted=sorted_backlog)
        compiler = Compiler(spec.plan, records, distribution)
        output = kafka_output(spec.plan, compiler.rows(), spec.id, spec.sink, spec.dead_topic)
        writer = (
            output.writeStream.format("kafka")
            .queryName(f"{spec.id}{' (backlog)' if sorted_backlog else ''}")
            .option("kafka.bootstrap.servers", spec.bootstrap)
            .option("kafka.interceptor.classes", "ksqlpy.RowtimeInterceptor")
            .option("kafka.client.id", spec.id)
            .option("kafka.linger.ms", "0")
            .option("checkpointLocation", str(spec.checkpoint))
            .outputMode("update")
        )
        writer = (
            writer.trigger(availableNow=True)
            if sorted_backlog
            else writer.trigger(realTime=f"{_apart(spec)} milliseconds")  # type: ignore[call-overload]  # newer than its types
        )
        with self._lock:
            if self._stopping.is_set():
                return
            self._query = writer.start()
        if not sorted_backlog:
            self.live.set()
        self._set("RUNNING")
        self._query.awaitTermination()
        if not sorted_backlog and not self._stopping.is_set():
            raise EngineProblem("query-ended", "the query ended by itself")

    def _has_backlog(self) -> bool:
        ends = end_offsets(self.spec.bootstrap, self.spec.offsets)
        return any(ends[t][p] > o for t, ps in self.spec.offsets.items() for p, o in ps.items())

    def _set(self, state: str) -> None:
        self.state = state
        self._changed(self)


EARLIEST = -2
"""How Spark says: the first offset there is."""


def _first(spec: QuerySpec) -> dict[str, dict[str, int]]:
    """The first offset of every partition; of one that came later, its start."""
    return {t: {str(p): spec.offsets[t].get(str(p), EARLIEST) for p in range(n)} for t, n in spec.partitions.items()}


def _apart(spec: QuerySpec) -> int:
    """The query's checkpoint interval: up to a tenth longer than asked, so that not all queries stop at once."""
    return spec.interval_ms + spec.interval_ms * (zlib.crc32(spec.id.encode()) % 100) // 1000


def _records(session: SparkSession, spec: QuerySpec, *, headers: bool) -> Any:
    """Spark's stream of records over all topics of the query."""
    return (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", spec.bootstrap)
        .option("subscribe", ",".join(spec.partitions))
        .option("startingOffsets", json.dumps(_first(spec)))
        .option("failOnDataLoss", "false")
        .option("includeHeaders", str(headers).lower())
        .option("groupIdPrefix", spec.id)
        .load()
    )


def _commits(checkpoint: Path) -> bool:
    folder = checkpoint / "commits"
    return folder.is_dir() and any(f.name.isdigit() for f in folder.iterdir())


def _reason(error: Exception) -> str:
    """One sentence for what went wrong, without Java's stack."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.strip().startswith("at ")]
    causes = [line for line in lines if line.startswith("Caused by:")]
    text = (causes[-1].removeprefix("Caused by:") if causes else lines[0] if lines else type(error).__name__).strip()
    return text[:500]
