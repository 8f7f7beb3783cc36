"""LAG and LEAD: a step of the JVM, which keeps the last rows of each key (``jvm/steps/Neighbours.java``)."""

from __future__ import annotations

from ksqlpy.formats import text
from ksqlpy.plan.operators import LagLead
from ksqlpy.spark.columns import Cell, Col, StepCol
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.operators.context import Context
from ksqlpy.spark.operators.keyed import kept_columns, keyed
from ksqlpy.spark.rows import Rows

__all__ = ["build"]


def build(node: LagLead, context: Context, records: Rows) -> Rows:
    """The rows, with what each call sees."""
    rows = context.build(node.input, records).drop(Col.READ)
    columns = (*kept_columns(rows), Col.ROWTIME)
    values = [(f"{Cell.VALUE}{i}", spark_text(c.value)) for i, c in enumerate(node.calls) if c.value is not None]
    rows, carried = keyed(node, context, rows, columns, values)
    offsets = [c.offset if c.function == "LEAD" else -c.offset for c in node.calls]
    rows = rows.stepped(context.step_spec(node, "neighbours", offsets=offsets, carried=carried), [StepCol.KEY])
    near = [f"{StepCol.NEAR}{i}" for i in range(len(offsets))]
    rows = rows.unpacked(
        StepCol.RESULT, columns, *near, Col.PARTITION, Col.OFFSET, Col.ROW, Col.PROGRESS, *carried, Col.RAW, Col.REASON,
        (Col.DELETED, "false"),
    )  # fmt: skip
    found = []
    for i, call in enumerate(node.calls):
        value = f"{near[i]}.{text.name(f'{Cell.VALUE}{i}')}"
        if call.default is not None:
            value = f"CASE WHEN {near[i]} IS NULL THEN {spark_text(call.default)} ELSE {value} END"
        found.append((f"__o{i}", value))
    return rows.plus(*found).drop(*near)
