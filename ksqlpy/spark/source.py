"""The Kafka source of a running query: one over all its topics."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import SparkSession

from ksqlpy.deadletters import HEADERS
from ksqlpy.formats.text import string
from ksqlpy.spark.figures import client_figures
from ksqlpy.spark.marks import first_attempt
from ksqlpy.spark.spec import QuerySpec

__all__ = ["isolation", "source_records"]

EARLIEST = -2
"""How Spark says: the first offset there is."""


def _first(spec: QuerySpec) -> dict[str, dict[str, int]]:
    """The first offset of every partition; of one that came later, its start."""
    return {t: {str(p): spec.offsets[t].get(str(p), EARLIEST) for p in range(n)} for t, n in spec.partitions.items()}


def isolation(committed: bool) -> str:
    """What Kafka's consumers call it: its source ends at the last stable offset where only committed records count."""
    return "read_committed" if committed else "read_uncommitted"


def _is_letter(topic: str) -> str:
    """Spark text: whether a record is a dead letter, if it is of this topic; not a note of a replay.

    A letter about a letter is none: the query that writes it would read it, and write another.
    """
    about = f"try_element_at(filter(headers, h -> h.key = {string(HEADERS['topic'])}), -1).value"
    return f"(topic != {string(topic)} OR coalesce({about} != cast({string(topic)} as binary), false))"


def source_records(session: SparkSession, spec: QuerySpec) -> Any:
    """Spark's stream of records over all topics of the query."""
    records = (
        session.readStream.format("kafka")
        .options(**spec.connection.spark_source)
        .option("subscribe", ",".join(spec.partitions))
        .option("startingOffsets", json.dumps(_first(spec)))
        .option("kafka.isolation.level", isolation(spec.committed))
        .option("failOnDataLoss", "false")
        .option("includeHeaders", "true")
        .option("groupIdPrefix", spec.id)
        .options(**client_figures(spec.id))
        # Kafka's own reporter registers some 200 metrics of a consumer with JMX, where nobody looks for them.
        .option("kafka.auto.include.jmx.reporter", "false")
        .load()
    )
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
