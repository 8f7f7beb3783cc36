"""The Kafka source of a running query: one over all its topics."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import SparkSession

from ksqlpy.formats.text import string
from ksqlpy.spark.figures import client_figures
from ksqlpy.spark.marks import first_attempt
from ksqlpy.spark.spec import QuerySpec

__all__ = ["source_records"]

EARLIEST = -2
"""How Spark says: the first offset there is."""


def _first(spec: QuerySpec) -> dict[str, dict[str, int]]:
    """The first offset of every partition; of one that came later, its start."""
    return {t: {str(p): spec.offsets[t].get(str(p), EARLIEST) for p in range(n)} for t, n in spec.partitions.items()}


def source_records(session: SparkSession, spec: QuerySpec) -> Any:
    """Spark's stream of records over all topics of the query."""
    records = (
        session.readStream.format("kafka")
        .options(**spec.connection.spark_source)
        .option("subscribe", ",".join(spec.partitions))
        .option("startingOffsets", json.dumps(_first(spec)))
        .option("failOnDataLoss", "false")
        .option("includeHeaders", "true")
        .option("groupIdPrefix", spec.id)
        .options(**client_figures(spec.id))
        .load()
    )
    if spec.until is not None:
        until = [
            f"topic = {string(t)} AND partition = {p} AND offset >= {o}L"
            for t, ps in spec.until.items()
            for p, o in ps.items()
        ]
        records = records.where(f"NOT ({' OR '.join(until)})")
    # Else the records of a second attempt would be refused only where its rows are written or kept (SinkValue.java,
    # ExpiringState.java), which is another task, and for which it is the first.
    return records.where(first_attempt("offset")) if spec.shuffled else records
