"""Drops the rows of a stream that do not pass."""

from __future__ import annotations

from ksqlpy.analysis import typed as t
from ksqlpy.plan.letters import makes_letters
from ksqlpy.plan.operators import Filter
from ksqlpy.spark.columns import Col
from ksqlpy.spark.counted_failures import holds
from ksqlpy.spark.deadrows import set_aside, tried_values
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.operators.context import Context
from ksqlpy.spark.rows import Rows
from ksqlpy.types import BOOLEAN

__all__ = ["build"]


def build(node: Filter, context: Context, records: Rows) -> Rows:
    """Records without a value never pass."""
    rows = context.build(node.input, records)
    predicate, given = node.predicate, f"NOT {Col.DELETED}"
    made = list[str]()
    if context.letters and makes_letters(predicate):
        rows, made = tried_values(rows, [spark_text(predicate)], f"{Col.RAW} IS NULL AND {given}")
        rows, predicate = set_aside(rows), t.ColumnRef(BOOLEAN, made[0])
    return rows.where(f"{Col.RAW} IS NOT NULL OR ({given} AND {holds(predicate, context.name)})").drop(*made)
