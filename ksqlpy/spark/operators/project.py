"""The columns of an inner query."""

from __future__ import annotations

from ksqlpy.plan.operators import Project
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.operators.context import Context
from ksqlpy.spark.rows import Rows

__all__ = ["build"]


def build(node: Project, context: Context, records: Rows) -> Rows:
    """The columns, so far as they are needed; a row keeps its place, and whether it was read."""
    rows = context.build(node.input, records)
    made = [(o.name, spark_text(o.expr)) for o in node.outputs if o.name in context.used]
    return rows.select(*made, *rows.shape.system)
