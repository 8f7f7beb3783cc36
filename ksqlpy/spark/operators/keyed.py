"""What steps of the JVM that keep rows of a stream by a key take."""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.plan.operators import Operator
from ksqlpy.spark.columns import Col, StepCol
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.operators.context import Context, struct_of
from ksqlpy.spark.operators.doubles import key_of
from ksqlpy.spark.provenance import which_result
from ksqlpy.spark.rows import Rows

__all__ = ["kept_columns", "keyed"]


def kept_columns(rows: Rows) -> tuple[str, ...]:
    """The columns of the query, and the bounds of its source's windows."""
    return (*rows.shape.without(*rows.shape.system), *rows.shape.only(Col.WINDOW_START, Col.WINDOW_END))


def keyed(
    node: Operator, context: Context, rows: Rows, columns: Sequence[str], values: Sequence[tuple[str, str]]
) -> tuple[Rows, list[str]]:
    """The rows as such a step takes them, spread by the operator's keys; a record without a value is no row.

    ``values``: what is kept ahead of the columns, name and Spark text. Also gives the columns that a result has from
    the row that brings it about.
    """
    carried = [*rows.shape.seen_of_tables, *rows.shape.headers]
    read = f"{Col.RAW} IS NULL"
    rows = rows.where(f"NOT ({read} AND {Col.DELETED})")
    texts = [key_of(context.plan, spark_text(k), k.type) for k in node.keys]
    keys = ", ".join(f"{k} AS k{i}" for i, k in enumerate(texts)) or "0 AS k0"
    rows = rows.plus(
        (StepCol.KEY, f"CASE WHEN {read} THEN struct({keys}) END"),
        (Col.NUMBERED, f"CASE WHEN {read} THEN {which_result(rows.shape, None)} ELSE 0L END"),
        *values,
    )
    rows = context.to_tasks(rows, context.step_number(node), [StepCol.KEY])
    kept = struct_of([*(name for name, _ in values), *columns])
    return rows.select(
        StepCol.KEY, (StepCol.NUMBER, f"coalesce({Col.NUMBERED}, 0L)"),
        (StepCol.RESULT, f"CASE WHEN {read} THEN {kept} END"),
        Col.ROWTIME, Col.PARTITION, Col.OFFSET, *carried, Col.RAW, Col.REASON,
    ), carried  # fmt: skip
