"""GROUP BY in sessions: a step of the JVM (``jvm/steps/Session.java``), with Spark's aggregates."""

from __future__ import annotations

from ksqlpy.plan.operators import SessionAggregate
from ksqlpy.spark.columns import Col, StepCol
from ksqlpy.spark.operators.context import Context
from ksqlpy.spark.operators.doubles import value_of
from ksqlpy.spark.operators.groups import cells, grouped
from ksqlpy.spark.provenance import which_result
from ksqlpy.spark.rows import Rows

__all__ = ["build"]


def build(node: SessionAggregate, context: Context, records: Rows) -> Rows:
    """Tombstones of the sessions that a row merges, then the session that it is in."""
    number = context.task_step if context.task_step is not None else context.step_number(node)
    context.task_step = None
    rows = context.build(node.input, records)
    shape = rows.shape
    kept = context.late_records(shape)
    carried = [*shape.seen_of_tables, *shape.headers, *kept]
    places = [Col.PARTITION, Col.OFFSET, *carried, *shape.only(Col.ROW, Col.SOURCE)]
    found = grouped(node, context, rows, places, of_table=False)
    state, results = cells(node, found.changes)
    state[Col.ROWTIME] = f"max({Col.ROWTIME})"
    keys = list(found.keys)
    rows = found.rows.plus(
        (StepCol.KEY, f"CASE WHEN {Col.RAW} IS NULL THEN struct({', '.join(keys)}) END"),
        (StepCol.NUMBER, which_result(shape, None)),
    )
    rows = context.to_tasks(rows, number, [StepCol.KEY]).drop(Col.ROW)
    spec = context.step_spec(
        node, "session", gap=node.windowing.size, grace=node.windowing.grace, query=context.name,
        names=[Col.WINDOW_START, Col.WINDOW_END, Col.DELETED, *([Col.LATE] if kept else [])], carried=carried,
    )  # fmt: skip
    rows = rows.in_sessions(spec, [StepCol.KEY], state)
    unread = _kept_late(node, context) if kept else [Col.RAW, Col.REASON]
    return rows.select(
        StepCol.KEY,
        *((k, value_of(context.plan, f"{StepCol.KEY}.{k}", e.type)) for k, e in zip(keys, node.group, strict=True)),
        *results,
        Col.WINDOW_START, Col.WINDOW_END, Col.ROWTIME, Col.PARTITION, Col.OFFSET, Col.ROW, Col.PROGRESS,
        *(c for c in carried if c not in kept), *unread, (Col.DELETED, f"coalesce({Col.DELETED}, false)"),
    )  # fmt: skip


def _kept_late(node: SessionAggregate, context: Context) -> list[tuple[str, str]]:
    """Late rows as records that pass by; ``LATE`` is the stream time."""
    w = node.windowing
    record = ", ".join(f"{Col.CAME}.{c} AS {c}" for c in context.record)
    reason = (
        f"concat('event time ', {Col.ROWTIME}, ' is late: its session was closed behind ',"
        f" {Col.ROWTIME} + {w.size + w.grace}, ', stream time was ', {Col.LATE})"
    )
    return [
        (Col.RAW, f"CASE WHEN {Col.LATE} IS NOT NULL THEN struct({record}, {Col.ROW} AS late) ELSE {Col.RAW} END"),
        (Col.REASON, f"CASE WHEN {Col.LATE} IS NOT NULL THEN {reason} ELSE {Col.REASON} END"),
    ]
