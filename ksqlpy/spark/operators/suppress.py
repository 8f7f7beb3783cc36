"""EMIT FINAL: a step of the JVM keeps the last row of each window until it closes (``jvm/steps/Suppress.java``)."""

from __future__ import annotations

from ksqlpy.plan.operators import Suppress
from ksqlpy.spark.columns import Col, StepCol
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.operators.context import Context, struct_of
from ksqlpy.spark.operators.doubles import key_texts, without_bits
from ksqlpy.spark.provenance import row_in_window
from ksqlpy.spark.rows import Rows

__all__ = ["build"]

_SEGMENT = 60_000
"""Kafka Streams' session store drops sessions in pieces of half its retention, of so many ms at least."""


def build(node: Suppress, context: Context, records: Rows) -> Rows:
    """The last result of each window, once, when stream time closes it.

    It works on the rows of the aggregate in the same tasks, all windows of a group in one.
    """
    context.task_step = context.step_number(node)
    rows = context.build(node.input, records)
    context.task_step = None
    w, shape = node.windowing, rows.shape
    group = key_texts(context.plan, node.keys, [spark_text(k) for k in node.keys], shape)
    # The watermark has served the aggregate; numbers and progress are the step's own from here on.
    carried = shape.without(
        Col.RAW, Col.REASON, Col.PARTITION, Col.OFFSET, Col.ROW, Col.WINDOW_CLOSE, Col.PROGRESS, Col.SEQ, StepCol.KEY
    )
    carried = without_bits(carried)
    grace, segment = w.grace, 0
    spread: list[str]
    kept = grace if w.retention is None else w.retention - w.size
    if w.kind == "SESSION":
        number, spread = "0L", [StepCol.KEY]
        kept = w.size + grace if w.retention is None else w.retention
        # A row at the end of its gap is still one of the session.
        grace, segment = w.size + grace + 1, max(kept // 2, _SEGMENT)
    else:
        row = f"cast(coalesce({Col.ROW}, 0) as bigint)" if shape.numbered else "0L"
        number, spread = row_in_window(row, w), [k.strip("`") for k in group]
    rows = rows.select(
        *(c for c in spread if c != StepCol.KEY),
        *((Col.SPREAD, StepCol.KEY) for c in spread if c == StepCol.KEY),
        (StepCol.KEY, f"struct({', '.join([*group, Col.WINDOW_START])})"),
        (StepCol.END, Col.WINDOW_END),
        (StepCol.NUMBER, f"coalesce({number}, 0L)"),
        (StepCol.RESULT, struct_of(carried)),
        Col.ROWTIME, Col.PARTITION, Col.OFFSET, Col.DELETED, Col.RAW, Col.REASON,
    )  # fmt: skip
    spec = context.step_spec(
        node, "suppress", advance=w.advance, grace=grace, idle=node.idle_ms or 0,
        kept=kept if node.forgetful else -1, segment=segment, query=context.name,
    )  # fmt: skip
    rows = rows.stepped(spec, [Col.SPREAD if c == StepCol.KEY else c for c in spread])
    return rows.unpacked(StepCol.RESULT, carried, Col.PARTITION, Col.OFFSET, Col.ROW, Col.PROGRESS, Col.RAW, Col.REASON)
