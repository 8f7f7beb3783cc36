"""Constant expressions become values and records: computed by the same Spark text as in a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from ksqlpy.analysis import Insert
from ksqlpy.analysis import typed as t
from ksqlpy.catalog import Column, ValueSpec
from ksqlpy.errors import AnalysisProblem
from ksqlpy.formats import JSON, Written, codec, json_object, write
from ksqlpy.spark.expressions import failure_text, spark_text

__all__ = ["record_of", "values_of"]


def record_of(session: SparkSession, insert: Insert) -> tuple[bytes | None, bytes | None, int | None]:
    """Key, value and time in ms (None: now) of the record that the statement inserts.

    Raises AnalysisProblem ``insert-failed`` where a value cannot be computed or does not fit: what a user gives is not
    replaced by null.
    """
    source = insert.source
    written = {
        c.name: Written(c.name, c.type, spark_text(v)) for c, v in zip(source.written, insert.values, strict=True)
    }
    key = write(source.key, [written[c.name] for c in source.keys])
    value = write(source.value, [written[c.name] for c in source.values])
    time = spark_text(insert.rowtime) if insert.rowtime is not None else "cast(null as bigint)"
    failures = [_failure(v) for v in insert.values]
    row = (
        session.range(0, 1, 1, 1)
        .selectExpr(
            f"{key} AS k", f"{value} AS v", f"cast({time} as bigint) AS t", f"array({', '.join(failures)}) AS failed"
        )
        .head()
    )
    assert row is not None
    for column, failed in zip(source.written, row.failed, strict=True):
        if failed:
            raise AnalysisProblem(
                "insert-failed",
                f"the value of {column.name} cannot be computed, or does not fit {column.type}",
                span=insert.spans.get(column.name),
                hint=f"give a value that {column.type} holds, or null",
            )
    return (
        bytes(row.k) if row.k is not None else None,
        bytes(row.v) if row.v is not None else None,
        row.t,
    )


def values_of(session: SparkSession, constants: Sequence[t.Expr]) -> list[Any]:
    """The values of constant expressions, as the formats' codecs give them; None for null and for what fails."""
    names = [f"C{i}" for i in range(len(constants))]
    written = [Written(n, c.type, spark_text(c)) for n, c in zip(names, constants, strict=True)]
    row = session.range(0, 1, 1, 1).selectExpr(f"{json_object(written)} AS v").head()
    assert row is not None
    columns = tuple(Column(n, c.type) for n, c in zip(names, constants, strict=True))
    values = codec(ValueSpec(JSON.name, columns)).decode(row.v.encode())
    return list(values or ())


def _failure(value: t.Expr) -> str:
    """Spark text of whether an error makes a value null: of a CAST of a constant too, which queries know as null."""
    if isinstance(value, t.Cast) and isinstance(value.value, t.Literal) and value.value.value is not None:
        return f"({spark_text(value)}) IS NULL"
    return failure_text(value) or "false"
