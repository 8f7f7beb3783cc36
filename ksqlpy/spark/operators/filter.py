"""Drops the rows of a stream that do not pass."""

from __future__ import annotations

from ksqlpy.plan.operators import Filter
from ksqlpy.spark.columns import Col
from ksqlpy.spark.counted_failures import holds
from ksqlpy.spark.operators.context import Context
from ksqlpy.spark.rows import Rows

__all__ = ["build"]


def build(node: Filter, context: Context, records: Rows) -> Rows:
    """Records without a value never pass."""
    rows = context.build(node.input, records)
    return rows.where(f"{Col.RAW} IS NOT NULL OR (NOT {Col.DELETED} AND {holds(node.predicate, context.name)})")
