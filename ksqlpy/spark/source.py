"""The Kafka source of a running query: one over all its topics."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import SparkSession

from ksqlpy.deadletters import HEADERS
from ksqlpy.formats.text import string
from ksqlpy.spark.compile import event_times
from ksqlpy.spark.figures import client_figures
from ksqlpy.spark.gateway import jvm_of, scala_frame
from ksqlpy.spark.once import Offsets
from ksqlpy.spark.provenance import first_attempt
from ksqlpy.spark.spec import QuerySpec

__all__ = ["OWN", "isolation", "source_records", "with_refused"]

OWN = "ksqlpy.source.OrderedKafka"
"""Spark's name of our source, which can read all partitions in one task, in the order of their records' times."""

EARLIEST = -2
"""How Spark says: the first offset there is."""


def _first(spec: QuerySpec) -> dict[str, dict[str, int]]:
    """The first offset of every partition; of one that came later, its start."""
    return {t: {str(p): spec.offsets[t].get(str(p), EARLIEST) for p in range(n)} for t, n in spec.partitions.items()}


def _own(spec: QuerySpec, end: Offsets | None, *, by_time: bool) -> dict[str, str]:
    """The options of our source (``jvm/source/OrderedKafka.java``)."""
    if not by_time:
        timed = any(r.source.timestamp is not None for r in spec.plan.relations)
        return {
            "ksqlpy.apart": "true",
            "ksqlpy.timed": "false" if timed else "true",
            "ksqlpy.max.task.idle.ms": str(min(0, spec.idle_ms)),
        }
    streams = {r.source.topic for r in spec.plan.streams}
    options = {
        "ksqlpy.max.task.idle.ms": str(spec.idle_ms),
        "ksqlpy.tables": "\n".join(t for t in spec.plan.topics if t not in streams),
    }
    return options if end is None else {**options, "ksqlpy.end": json.dumps(end)}


def isolation(committed: bool) -> str:
    """What Kafka's consumers call it: its source ends at the last stable offset where only committed records count."""
    return "read_committed" if committed else "read_uncommitted"


def with_refused(records: Any, *columns: str) -> Any:
    """These columns of our source, and ``refused``, why a record is not to be read (``jvm/source/Refused.java``)."""
    # No broker gives a record without a type of its time. The last header has the reason.
    marked = "timestampType = -1"
    given = f"CASE WHEN {marked} THEN slice(headers, 1, size(headers) - 1) ELSE headers END AS headers"
    reason = f"CASE WHEN {marked} THEN cast(try_element_at(headers, -1).value AS string) END AS refused"
    return records.selectExpr(*(given if c == "headers" else c for c in columns), reason)


def _is_letter(topic: str) -> str:
    """Spark text: whether a record is a dead letter, if it is of this topic; not a note of a replay.

    A letter about a letter is none: the query that writes it would read it, and write another.
    """
    about = f"try_element_at(filter(headers, h -> h.key = {string(HEADERS['topic'])}), -1).value"
    return f"(topic != {string(topic)} OR coalesce({about} != cast({string(topic)} as binary), false))"


def source_records(
    session: SparkSession, spec: QuerySpec, *, skipping: bool, end: Offsets | None = None, by_time: bool = False
) -> Any:
    """Spark's stream of records over all topics of the query.

    ``skipping``: it goes on behind records that are gone; else it fails, and who starts it again counts them.
    ``end``: where a micro-batch ends at the latest; only of a query that is read by time.
    ``by_time``: one task reads all, also where the plan does not ask for it.
    """
    reader = (
        session.readStream.format(OWN)
        .options(**spec.connection.spark_source)
        .option("subscribe", ",".join(spec.partitions))
        .option("startingOffsets", json.dumps(_first(spec)))
        .option("kafka.isolation.level", isolation(spec.committed))
        .option("failOnDataLoss", "false" if skipping else "true")
        .option("includeHeaders", "true")
        .option("groupIdPrefix", spec.id)
        .options(**client_figures(spec.id))
        # Kafka's own reporter registers some 200 metrics of a consumer with JMX, where nobody looks for them.
        .option("kafka.auto.include.jmx.reporter", "false")
    )
    by_time = by_time or spec.by_time
    reader = reader.options(**_own(spec, end, by_time=by_time))
    reader = reader.option("ksqlpy.record.max.bytes", str(spec.largest_record))
    skipped: dict[str, dict[str, list[int]]] = {}
    for topic, partition, offset in spec.skipped:
        skipped.setdefault(topic, {}).setdefault(str(partition), []).append(offset)
    reader = reader.option("ksqlpy.skipped", json.dumps(skipped))
    if by_time:
        times = event_times(spec.plan, reader.load())
        if times is not None:
            jvm = jvm_of(session)
            reader = reader.option("ksqlpy.times", jvm.ksqlpy.internals.EventTimes.keep(scala_frame(times)))
    records = reader.load()
    records = with_refused(records, *(c for c in records.columns if c != "timestampType"))
    if spec.until is not None:
        until = [
            f"topic = {string(t)} AND partition = {p} AND offset >= {o}L"
            for t, ps in spec.until.items()
            for p, o in ps.items()
        ]
        records = records.where(f"NOT ({' OR '.join(until)})")
    if spec.dead_topic in spec.partitions:
        records = records.where(_is_letter(spec.dead_topic))
    # Else the records of a second attempt would be refused only where its rows are written or kept (SinkValue.java,
    # ExpiringState.java), which is another task, and for which it is the first.
    return records.where(first_attempt("offset")) if spec.shuffled else records
