"""The columns of an inner query."""

from __future__ import annotations

from ksqlpy.plan.letters import makes_letters
from ksqlpy.plan.operators import Project
from ksqlpy.spark.columns import Col
from ksqlpy.spark.deadrows import set_aside, tried_values
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.operators.context import Context
from ksqlpy.spark.rows import Rows

__all__ = ["build"]


def build(node: Project, context: Context, records: Rows) -> Rows:
    """The columns, so far as they are needed; a row keeps its place, and whether it was read."""
    rows = context.build(node.input, records)
    made = {o.name: spark_text(o.expr) for o in node.outputs if o.name in context.used}
    calling = [o.name for o in node.outputs if o.name in made and context.letters and makes_letters(o.expr)]
    if calling:
        given = f"{Col.RAW} IS NULL AND NOT {Col.DELETED}"
        rows, columns = tried_values(rows, [made[n] for n in calling], given)
        rows = set_aside(rows)
        made |= zip(calling, columns, strict=True)
    return rows.select(*made.items(), *rows.shape.system)
