"""Streams joined in time: a step of the JVM, which keeps the rows of both sides (``jvm/steps/Join.java``)."""

from __future__ import annotations

from ksqlpy.formats import text
from ksqlpy.plan.operators import StreamStreamJoin
from ksqlpy.spark.columns import Col, StepCol, SystemColumn
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.operators.context import Context, struct_of
from ksqlpy.spark.operators.doubles import key_of, signs_zero, value_of
from ksqlpy.spark.provenance import which_result
from ksqlpy.spark.rows import Rows

__all__ = ["build"]


def build(node: StreamStreamJoin, context: Context, records: Rows) -> Rows:
    """Pairs of rows with equal keys that are near in time, and rows without a partner, as the kind of the join says."""
    [source] = (r.source for r in node.right.relations)
    twin = source.topic in {r.source.topic for r in node.left.relations}
    if twin:  # a record that both sides read is a row of either, first of the left one
        twice = f"CASE WHEN {Col.RAW}.topic = {text.string(source.topic)} THEN array(0, 1) ELSE array(0) END"
        records = records.several((Col.ROW, Col.BRANCH), f"posexplode({twice})")
        context.branch = 0
    rows = context.build(node.left, records).drop(Col.READ)
    seen = rows.shape.seen_of_tables
    left = (*_columns(rows), *seen)
    context.branch = 1 if twin else None
    rows = context.build(node.right, rows)
    context.branch = None
    if twin:  # what the left side could not read is a dead letter already
        rows = rows.where(f"NOT ({Col.BRANCH} <=> 1 AND {Col.REASON} IS NOT NULL)").drop(Col.BRANCH)
    right = tuple(c for c in _columns(rows) if c not in left)
    rows = rows.plus((Col.NUMBERED, f"CASE WHEN {Col.RAW} IS NULL THEN {which_result(rows.shape, None)} ELSE 0L END"))
    side = f"CASE WHEN {Col.READ} THEN 1Y ELSE 0Y END"
    key = f"CASE WHEN {Col.READ} THEN {spark_text(node.right_key)} ELSE {spark_text(node.left_key)} END"
    key = key_of(context.plan, key, node.key.type, signed=signs_zero(node.relations[0], [node.left_key]))
    rows = rows.plus((Col.SIDE, side), (Col.JOIN_KEY, f"CASE WHEN {Col.RAW} IS NULL THEN {key} END"))
    # A record without a value never joins; one without a key has no partner, and comes out where its side does alone.
    alone = {"INNER": "false", "LEFT": f"NOT {Col.READ}", "RIGHT": str(Col.READ), "FULL": "true"}[node.kind]
    rows = rows.where(f"{Col.RAW} IS NOT NULL OR (({Col.JOIN_KEY} IS NOT NULL OR {alone}) AND NOT {Col.DELETED})")
    bounds = [Col.WINDOW_START, Col.WINDOW_END] if node.windowed else []
    rows = rows.plus((StepCol.KEY, f"CASE WHEN {Col.RAW} IS NULL THEN {struct_of([Col.JOIN_KEY, *bounds])} END"))
    rows = context.to_tasks(rows, context.step_number(node), [StepCol.KEY])
    rows = rows.select(
        StepCol.KEY, Col.SIDE, (StepCol.NUMBER, f"coalesce({Col.NUMBERED}, 0L)"),
        *((name, f"CASE WHEN {Col.RAW} IS NULL AND {Col.SIDE} = {i}Y THEN {struct_of([StepCol.KEY, *columns])} END")
          for i, (name, columns) in enumerate(((StepCol.LEFT, left), (StepCol.RIGHT, right)))),
        Col.ROWTIME, Col.PARTITION, Col.OFFSET, *rows.shape.headers, Col.RAW, Col.REASON,
    )  # fmt: skip
    spec = context.step_spec(
        node, "join", before=node.before, after=node.after, grace=-1 if node.grace is None else node.grace,
        left=node.kind in ("LEFT", "FULL"), right=node.kind in ("RIGHT", "FULL"),
    )  # fmt: skip
    rows = rows.stepped(spec, [StepCol.KEY])
    made = {c: f"{StepCol.LEFT}.{text.name(c)}" for c in left} | {c: f"{StepCol.RIGHT}.{text.name(c)}" for c in right}
    whole = f"coalesce({StepCol.LEFT}.{StepCol.KEY}, {StepCol.RIGHT}.{StepCol.KEY})"
    made |= {c: f"coalesce({StepCol.LEFT}.{c}, -1L)" for c in seen}
    joined = value_of(context.plan, f"{whole}.{Col.JOIN_KEY}", node.key.type)
    key = SystemColumn(node.key.name) if node.kept_key else node.key.name
    made |= {key: joined, **{n: joined for n in node.kept_key if n in context.used}}
    made |= {b: f"{whole}.{b}" for b in bounds}
    return rows.select(
        *made.items(), Col.ROWTIME, Col.PARTITION, Col.OFFSET, Col.ROW, Col.PROGRESS,
        *rows.shape.headers, Col.RAW, Col.REASON, (Col.DELETED, "false"),
    )  # fmt: skip


def _columns(rows: Rows) -> tuple[str, ...]:
    """The columns of the query."""
    return rows.shape.without(*rows.shape.system)
