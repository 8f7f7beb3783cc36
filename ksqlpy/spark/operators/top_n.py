"""ROW_NUMBER: a step of the JVM, which keeps the first rows of each group (``jvm/steps/Ranking.java``)."""

from __future__ import annotations

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import RANK
from ksqlpy.functions.sparktext import text_key
from ksqlpy.plan.operators import TopN
from ksqlpy.spark.columns import Cell, Col, StepCol
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.operators.context import Context
from ksqlpy.spark.operators.keyed import kept_columns, keyed
from ksqlpy.spark.rows import Rows
from ksqlpy.types import STRING

__all__ = ["build"]


def build(node: TopN, context: Context, records: Rows) -> Rows:
    """Each row of a group whose rank or content changes."""
    rows = context.build(node.input, records).drop(Col.READ)
    columns = kept_columns(rows)
    values = [(f"{Cell.VALUE}{i}", _sorts_by(k.expr)) for i, k in enumerate(node.order)]
    rows, carried = keyed(node, context, rows, columns, values)
    order = {"descending": [k.descending for k in node.order], "nullsFirst": [k.nulls_first for k in node.order]}
    rows = rows.stepped(context.step_spec(node, "ranking", limit=node.limit, **order, carried=carried), [StepCol.KEY])
    return rows.unpacked(
        StepCol.RESULT, columns, (RANK.name, StepCol.RANK), Col.ROWTIME, Col.PARTITION, Col.OFFSET, Col.ROW,
        Col.PROGRESS, *carried, Col.RAW, Col.REASON, (Col.DELETED, "false"),
    )  # fmt: skip


def _sorts_by(value: t.Expr) -> str:
    """Spark text of what sorts rows: texts are in Java's order, as in all comparisons."""
    return text_key(spark_text(value)) if value.type == STRING else spark_text(value)
