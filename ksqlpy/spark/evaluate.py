"""Constant expressions become records: INSERT VALUES is computed by the same Spark text as a query."""

from __future__ import annotations

from pyspark.sql import SparkSession

from ksqlpy.analysis import Insert
from ksqlpy.formats import Written, key_part, value_part, write
from ksqlpy.spark.expressions import spark_text

__all__ = ["record_of"]


def record_of(session: SparkSession, insert: Insert) -> tuple[bytes | None, bytes | None, int | None]:
    """Key, value and time in ms (None: now) of the record that the statement inserts."""
    source = insert.source
    written = {
        c.name: Written(c.name, c.type, spark_text(v)) for c, v in zip(source.written, insert.values, strict=True)
    }
    key = write(key_part(source), [written[c.name] for c in source.keys])
    value = write(value_part(source), [written[c.name] for c in source.values])
    time = spark_text(insert.rowtime) if insert.rowtime is not None else "cast(null as bigint)"
    row = session.range(0, 1, 1, 1).selectExpr(f"{key} AS k", f"{value} AS v", f"cast({time} as bigint) AS t").head()
    assert row is not None
    return (
        bytes(row.k) if row.k is not None else None,
        bytes(row.v) if row.v is not None else None,
        row.t,
    )
