"""A table joined with another by a foreign key: three steps of the JVM (``jvm/steps/ForeignKey.java``)."""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.formats import text
from ksqlpy.plan.operators import ForeignKeyJoin
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.marks import stream_time, which_result
from ksqlpy.spark.operators.context import AS_READ, Context, struct_of
from ksqlpy.spark.rows import Col, Rows

__all__ = ["build"]

_TURN = "__turn"


def build(node: ForeignKeyJoin, context: Context, records: Rows) -> Rows:
    """The result of a left row after each change of it or of its right row; a tombstone where there is none."""
    rows = context.build(node.left, records).drop(Col.READ)
    number = which_result(rows.shape, None)
    left = rows.shape.without(*rows.shape.system)
    identity = node.left.identity
    if identity is None:
        raise TypeError(f"not a table: {node.left!r}")
    rows = rows.plus(("__numbered", f"CASE WHEN {Col.RAW} IS NULL THEN {number} ELSE 0L END")).drop(Col.ROW)
    rows = context.build(node.right, rows)
    right = tuple(c for c in rows.shape.without(*rows.shape.system) if c not in left)
    rows = _marked(node, context, rows, left, right)
    outer = node.kind == "LEFT"
    # Whole source partitions in one task, so that what they send on comes in the order of their offsets.
    rows = _ordered(context, rows, ["__spread"])
    rows = rows.stepped({**context.step_spec(node, "foreign-key changes", left=outer), "lanes": []}, ["__spread"])
    rows = _next(rows, "__fk")
    turn = _TURN if _sorts(context) else None
    rows = context.to_tasks(rows, context.step_number(node), ["__key"], turn)
    rows = rows.stepped(context.step_spec(node, "foreign-key matches", left=outer), ["__key"])
    rows = _next(rows, "__pk")
    rows = _ordered(context, rows, ["__key"])
    rows = rows.stepped({**context.step_spec(node, "foreign-key latest"), "lanes": []}, ["__key"])
    times = [f"__left.{Col.ROWTIME}", f"__right.{Col.ROWTIME}", Col.ROWTIME]
    return rows.select(
        *((c, f"__left.{text.name(c)}") for c in left),
        *((c, f"__right.{text.name(c)}") for c in right),
        (Col.ROWTIME, f"greatest({', '.join(times)})"),
        Col.PARTITION, Col.OFFSET, Col.ROW, Col.PROGRESS, *rows.shape.headers,
        (Col.DELETED, f"coalesce({Col.DELETED}, false)"), Col.RAW, Col.REASON,
    )  # fmt: skip


def _marked(node: ForeignKeyJoin, context: Context, rows: Rows, left: Sequence[str], right: Sequence[str]) -> Rows:
    """The rows of both tables as the first step takes them."""
    assert node.left.identity is not None
    read = f"{Col.RAW} IS NULL"
    ours, theirs = f"{read} AND NOT {Col.READ}", f"{read} AND {Col.READ}"
    fk = f"CASE WHEN {Col.READ} THEN {spark_text(node.right_key)} ELSE {spark_text(node.left_key)} END"
    pk = ", ".join(f"{spark_text(k)} AS k{i}" for i, k in enumerate(node.left.identity))
    if _sorts(context) and Col.SOURCE in rows.shape.columns:
        turn = stream_time(Col.SOURCE, f"coalesce({Col.ROWTIME}, {Col.RAW}.ts)")
    else:
        turn = "cast(null as bigint)"
    rows = rows.plus(("__foreign", f"CASE WHEN {read} THEN {fk} END"))
    return rows.select(
        ("__side", f"CASE WHEN {Col.READ} THEN 1Y ELSE 0Y END"),
        ("__pk", f"CASE WHEN {ours} THEN struct({pk}) END"),
        ("__fk", "CASE WHEN __foreign IS NOT NULL THEN struct(__foreign AS k) END"),
        ("__left", f"CASE WHEN {ours} THEN {struct_of([Col.ROWTIME, *left])} END"),
        ("__right", f"CASE WHEN {theirs} THEN {struct_of([Col.ROWTIME, *right])} END"),
        ("__spread", f"coalesce({Col.PARTITION}, 0)"), ("__key", f"struct({Col.PARTITION})"),
        ("__number", "coalesce(__numbered, 0L)"), (_TURN, turn),
        Col.ROWTIME, Col.PARTITION, Col.OFFSET, Col.DELETED, *rows.shape.headers, Col.RAW, Col.REASON,
    )  # fmt: skip


def _next(rows: Rows, key: str) -> Rows:
    """What a step gave as what the next one takes, which spreads it by ``key``."""
    kept = rows.shape.without(Col.ROW, "__key", "__number")
    return rows.select(*kept, ("__key", key), ("__number", f"coalesce({Col.ROW}, 0L)"))


def _sorts(context: Context) -> bool:
    """Whether rows are sorted by time, as in a backlog and after a restart."""
    return context.distribution.shuffled and (context.distribution.sorted or context.tail is not None)


def _ordered(context: Context, rows: Rows, keys: Sequence[str]) -> Rows:
    """The rows of one key in one task; sorted by their time, where that is done, and as they were read."""
    d = context.distribution
    if not d.shuffled:
        return rows.together()
    if not _sorts(context):
        return rows.repartitioned(d.partitions, keys)
    return rows.spread(d.partitions, keys, [_TURN, *AS_READ, "__number"])
