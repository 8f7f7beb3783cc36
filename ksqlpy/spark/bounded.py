"""A plan over records that are there now: its rows as JSON, not as records of a topic.

The plan is compiled as that of a running query; only source and sink are others. Records come from Kafka, and from
folders of rows as JSON lines (:mod:`ksqlpy.spark.encode`). Without state it is a batch. With state it is a stream in
one micro-batch, in which stateful steps emit every change, as they do live; it can go on with what comes later.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Output
from ksqlpy.catalog import Source
from ksqlpy.connection import KafkaConnection
from ksqlpy.errors import EngineProblem
from ksqlpy.formats import Written, json_object, text
from ksqlpy.functions.sparktext import text_key
from ksqlpy.plan import Plan
from ksqlpy.reading import Change, Record, Unread
from ksqlpy.registry import SchemaRegistry
from ksqlpy.spark.clients import tell_jvm, tell_registry
from ksqlpy.spark.columns import Col
from ksqlpy.spark.compile import Distribution, compile_plan
from ksqlpy.spark.encode import encoded
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.failure import failure_of
from ksqlpy.spark.once import Offsets
from ksqlpy.spark.source import OWN, isolation, with_refused
from ksqlpy.types import STRING

__all__ = ["Inputs", "Run"]

_LOOK = 0.1
"""Seconds between two looks whether it is over."""

_COLUMNS = "key", "value", "topic", "partition", "offset", "timestamp"
_READ = "cast(null AS string) AS refused"
"""Of records that are none of Kafka's."""


@dataclass(frozen=True)
class Inputs:
    """Where records come from.

    ``start``, ``end``: offsets of Kafka's topics, from where and up to where; ``files``: by topic, the source and a
    folder with files of its rows as JSON lines. ``now``: the time in ms of rows of a stream that have none; a
    table's are there from the beginning. ``given``: records that are here, by topic, of a batch.

    ``since``: by topic, a time in ms: records of earlier timestamps are left out; ``until``: a time in ms: so are those
    of it and later ones, of all topics. ``rows``: how many the files have. ``at_once``: where rows are given out as
    they are read, no more records of a partition are a task; None: all of them are. ``registry``: for formats whose
    records name their schemas. ``committed``: whether records of aborted and open transactions are left out.
    ``largest_record``: how many bytes a record has at most that is read.
    """

    connection: KafkaConnection
    start: Offsets
    end: Offsets
    files: Mapping[str, tuple[Source, Path]] = field(default_factory=dict)
    now: int = 0
    given: Mapping[str, Sequence[Record]] = field(default_factory=dict)
    since: Mapping[str, int] = field(default_factory=dict)
    until: int | None = None
    rows: int = 0
    at_once: int | None = None
    registry: SchemaRegistry | None = None
    committed: bool = True
    largest_record: int = 2**62

    @property
    def records(self) -> int:
        """How many records are to be read, if no offset between start and end is without one."""
        return self.rows + sum(n for p in self._sizes.values() for n in p) + sum(map(len, self.given.values()))

    @property
    def largest(self) -> int:
        """How many of them the largest partition of a topic has."""
        return max((n for p in self._sizes.values() for n in p), default=0)

    @property
    def piece(self) -> float:
        """How many of them a task of a batch has, on average."""
        pieces = [-(-n // self.at_once) if self.at_once else 1 for p in self._sizes.values() for n in p]
        return self.records / max(1, sum(max(1, n) for n in pieces) + len(self.files) + len(self.given))

    @property
    def _sizes(self) -> dict[str, list[int]]:
        return {t: [max(0, self.end[t][n] - first) for n, first in p.items()] for t, p in self.start.items()}

    @property
    def within(self) -> str | None:
        """Spark text of whether the timestamp of a record is one of those wanted; None: all are."""
        parts = [
            f"NOT (topic = {text.string(topic)} AND timestamp < timestamp_millis({ms}L))"
            for topic, ms in self.since.items()
        ]
        if self.until is not None:
            parts.append(f"timestamp < timestamp_millis({self.until}L)")
        return " AND ".join(parts) or None

    @property
    def partitions(self) -> dict[str, int]:
        """How many partitions each topic has; a file counts as one."""
        one = dict.fromkeys((*self.files, *self.given), 1)
        return {**{topic: len(p) for topic, p in self.start.items()}, **one}


class Run:
    """One run of a plan.

    ``identity``: what tells the rows of a table apart, over the rows ahead of the plan's projection. ``folder``: for
    the checkpoint of a plan with state. ``order``: how the rows of a batch are sorted.
    """

    def __init__(
        self,
        session: SparkSession,
        plan: Plan,
        identity: Sequence[t.Expr],
        inputs: Inputs,
        folder: str,
        order: Sequence[t.SortKey] = (),
    ) -> None:
        # The projection keeps what its expressions need, so the identity stands in it too.
        hidden = tuple(Output(f"__id{i}", e) for i, e in enumerate((*identity, *(k.expr for k in order))))
        self._order = tuple(order)
        self._plan = replace(plan, root=replace(plan.root, outputs=(*plan.root.outputs, *hidden)))
        self._visible = plan.root.outputs
        self._hidden = hidden[: len(identity)]
        self._inputs = inputs
        self._checkpoint = f"{folder}/checkpoint"
        self._at_once: int | None = None
        self._width = max(inputs.partitions.values())
        self._session = session.newSession()
        self._session.conf.set("spark.sql.shuffle.partitions", str(self._width))
        self._session.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
        # A file is read in one piece, in its order.
        self._session.conf.set("spark.sql.files.maxPartitionBytes", str(2**62))

    def batch(self, limit: int | None = None) -> Iterator[Change[str] | Unread]:
        """The rows of a plan without state, partition by partition. Raises EngineProblem.

        ``limit``: no more rows than that, and nothing of records that cannot be read.
        """
        # Partitions are fetched one after the other, each as a whole, the next while this one's rows are taken.
        whole = limit is not None or self._order or self._plan.ordered_backlog
        self._at_once = None if whole or self._inputs.largest <= (self._inputs.at_once or 0) else self._inputs.at_once
        found = self._output(self._records(stream=False), past=True)
        if limit is not None:
            found = found.where("columns IS NOT NULL").limit(limit)
        try:
            yield from map(_change, found.toLocalIterator(prefetchPartitions=self._at_once is not None))
        except PySparkException as e:
            raise _failed(e) from e

    def changes(
        self,
        take: Callable[[Change[str] | Unread], None],
        *,
        follow: bool,
        timeout: float | None,
        wanted: Callable[[], bool] = lambda: True,
    ) -> bool:
        """Gives all rows to ``take``, in the order in which they come; ``follow``: goes on with what comes later.

        ``timeout``: seconds after which it stops; ``wanted``: it also stops when that is not so any more. Returns
        whether it ended before. An exception of ``take`` ends it. Raises EngineProblem.
        """
        raised: list[Exception] = []
        deadline = time.monotonic() + timeout if timeout is not None else math.inf

        def each(rows: DataFrame, number: int) -> None:
            if raised:
                return
            try:
                for row in rows.collect():
                    take(_change(row))
            except PySparkException:
                raise
            except Exception as e:  # of the caller: carried to its thread
                raised.append(e)

        records = self._records(stream=True)
        for past in (True, False) if follow else (True,):
            writer = (
                self._output(records, past=past)
                .writeStream.foreachBatch(each)
                .option("checkpointLocation", self._checkpoint)
                .outputMode("update")
            )
            query = (writer.trigger(availableNow=True) if past else writer.trigger(processingTime="0 seconds")).start()
            try:
                while not query.awaitTermination(_LOOK):  # type: ignore[arg-type]  # its type forgets fractions
                    if raised:
                        break
                    if time.monotonic() > deadline or not wanted():
                        return False
            except PySparkException as e:
                raise _failed(e) from e
            finally:
                query.stop()
            if raised:
                raise raised[0]
        return True

    # ------------------------------------------------------------ source and sink

    def _records(self, *, stream: bool) -> DataFrame:
        tell_registry(self._session, self._inputs.registry)
        parts = [self._kafka(stream)] if self._inputs.start else []
        parts += [self._file(topic, *place, stream) for topic, place in self._inputs.files.items()]
        parts += [self._given(topic, records) for topic, records in self._inputs.given.items()]
        records = parts[0]
        for part in parts[1:]:
            records = records.unionByName(part)
        within = self._inputs.within
        return records if within is None else records.where(within)

    def _kafka(self, stream: bool) -> DataFrame:
        tell_jvm(self._session, self._inputs.connection)
        headers = self._plan.shows_headers
        reader: Any = (self._session.readStream if stream else self._session.read).format(OWN)
        reader = (
            reader.options(**self._inputs.connection.spark_source)
            .option("subscribe", ",".join(self._inputs.start))
            .option("startingOffsets", json.dumps(self._inputs.start))
            .option("kafka.isolation.level", isolation(self._inputs.committed))
            .option("failOnDataLoss", "false")
            .option("includeHeaders", "true")
            .options(**{"ksqlpy.apart": "true", "ksqlpy.max.task.idle.ms": "-1"})
            .option("ksqlpy.record.max.bytes", str(self._inputs.largest_record))
        )
        if not stream:
            reader = reader.option("endingOffsets", json.dumps(self._inputs.end))
            if self._at_once is not None:  # the pieces of a partition stay in their order
                reader = reader.option("maxRecordsPerPartition", self._at_once)
        found: DataFrame = with_refused(reader.load(), *_COLUMNS, *(["headers"] if headers else []))
        return found

    def _given(self, topic: str, records: Sequence[Record]) -> DataFrame:
        """Records that are here, of a batch."""
        form = "key binary, value binary, partition int, offset bigint, time bigint"
        rows: list[tuple[Any, ...]] = [(r.key, r.value, r.partition, r.offset, r.time) for r in records]
        headers = ["headers"] if self._plan.shows_headers else []
        if headers:
            form += ", headers array<struct<key: string, value: binary>>"
            rows = [(*row, list(r.headers)) for row, r in zip(rows, records, strict=True)]
        frame = self._session.createDataFrame(rows, form)
        at = f"{text.string(topic)} AS topic"
        return frame.selectExpr(
            "key", "value", at, "partition", "offset", "timestamp_millis(time) AS timestamp", *headers, _READ
        )

    def _file(self, topic: str, source: Source, folder: Path, stream: bool) -> DataFrame:
        reader: Any = self._session.readStream if stream else self._session.read
        rows = encoded(reader.option("lineSep", "\n").text(str(folder)), source)
        headers = "cast(array() as array<struct<key: string, value: binary>>) AS headers"
        return rows.selectExpr(
            "key", "value", f"{text.string(topic)} AS topic", "0 AS partition", "offset",
            f"timestamp_millis(coalesce(time, {self._inputs.now if source.kind == 'STREAM' else 0}L)) AS timestamp",
            *([headers] if self._plan.shows_headers else []), _READ,
        )  # fmt: skip

    def _output(self, records: DataFrame, *, past: bool) -> DataFrame:
        """The plan's rows; ``past``: those of several partitions meet in the order of their time."""
        partitions = self._inputs.partitions
        several = sum(partitions.values()) > 1
        distribution = Distribution(
            self._width,
            several,
            sorted=past and (self._plan.ordered_backlog or (self._plan.stateful and several)),
            source_partitions=partitions[self._plan.relations[0].source.topic],
        )
        rows = compile_plan(self._plan, records, distribution)
        shown = json_object([Written(o.name, o.expr.type, spark_text(o.expr)) for o in self._visible])
        identity = [Written(o.name, o.expr.type, spark_text(o.expr)) for o in self._hidden]
        if rows.shape.bounded:
            identity.append(Written(Col.WINDOW_START, t.SYSTEM["WINDOWSTART"][1], Col.WINDOW_START))
        key = json_object(identity) if identity else "''"
        frame = rows.frame
        if self._order:
            frame = frame.orderBy(*map(_sorted, self._order))
        return frame.selectExpr(
            f"CASE WHEN {Col.RAW} IS NULL THEN {key} END AS key",
            f"CASE WHEN {Col.RAW} IS NULL AND NOT {Col.DELETED} THEN {shown} END AS columns",
            *(f"{Col.RAW}.{c} AS {c}" for c in ("topic", "partition", "offset")), f"{Col.REASON} AS reason",
        )  # fmt: skip


def _sorted(key: t.SortKey) -> SparkColumn:
    value = spark_text(key.expr)
    by = expr(text_key(value) if key.expr.type == STRING else value)
    if key.descending:
        return by.desc_nulls_first() if key.nulls_first else by.desc_nulls_last()
    return by.asc_nulls_first() if key.nulls_first else by.asc_nulls_last()


def _change(row: Any) -> Change[str] | Unread:
    if row.reason is not None:
        return Unread(row.topic, row.partition, row.offset, row.reason)
    return Change(row.key, row.columns)


def _failed(error: PySparkException) -> EngineProblem:
    return EngineProblem("query-failed", f"the query failed: {failure_of(error).message}")
