"""A table joined with another by a foreign key: three steps of the JVM (``jvm/steps/ForeignKey.java``)."""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.formats import text
from ksqlpy.plan.operators import Filter, ForeignKeyJoin, Project, Scan, TableFilter
from ksqlpy.spark.columns import Col, StepCol
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.operators.context import AS_READ, LAST, Context, struct_of
from ksqlpy.spark.operators.doubles import key_of, signs_zero
from ksqlpy.spark.provenance import ROWS, stream_time, which_result
from ksqlpy.spark.rows import Rows

__all__ = ["build"]


def build(node: ForeignKeyJoin, context: Context, records: Rows) -> Rows:
    """The result of a left row after each change of it or of its right row; a tombstone where there is none."""
    rows = context.build(node.left, records).drop(Col.READ)
    mixed = _sorts(context) and not _as_read(node)
    if mixed:
        rows = rows.plus((Col.ORDER, "monotonically_increasing_id()"))
    number = which_result(rows.shape, None)
    left = rows.shape.without(*rows.shape.system)
    identity = node.left.identity
    if identity is None:
        raise TypeError(f"not a table: {node.left!r}")
    rows = rows.plus((Col.NUMBERED, f"CASE WHEN {Col.RAW} IS NULL THEN {number} ELSE 0L END")).drop(Col.ROW)
    rows = context.build(node.right, rows)
    right = tuple(c for c in rows.shape.without(*rows.shape.system) if c not in left)
    rows = _marked(node, context, rows, left, right)
    outer = node.kind == "LEFT"
    rows = _ordered(context, rows, [Col.SPREAD], [Col.ORDER] if mixed else []).drop(Col.ORDER)
    rows = rows.stepped({**context.step_spec(node, "foreign-key changes", left=outer), "lanes": []}, [Col.SPREAD])
    rows = _next(rows, StepCol.FK)
    turn = Col.TURN if _sorts(context) else None
    rows = context.to_tasks(rows, context.step_number(node), [StepCol.KEY], turn)
    rows = rows.stepped(context.step_spec(node, "foreign-key matches", left=outer, mixed=mixed), [StepCol.KEY])
    rows = _next(rows, StepCol.PK)
    rows = _as_written(context, rows)
    rows = rows.stepped({**context.step_spec(node, "foreign-key latest"), "lanes": []}, [StepCol.KEY])
    times = [f"{StepCol.LEFT}.{Col.ROWTIME}", f"{StepCol.RIGHT}.{Col.ROWTIME}", Col.ROWTIME]
    return rows.select(
        *((c, f"{StepCol.LEFT}.{text.name(c)}") for c in left),
        *((c, f"{StepCol.RIGHT}.{text.name(c)}") for c in right),
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
    fk = key_of(context.plan, fk, node.left_key.type, signed=signs_zero(node.right.relations[0], [node.right_key]))
    pk = ", ".join(f"{key_of(context.plan, spark_text(k), k.type)} AS k{i}" for i, k in enumerate(node.left.identity))
    if _sorts(context) and Col.SOURCE in rows.shape.columns:
        turn = stream_time(Col.SOURCE, f"coalesce({Col.ROWTIME}, {Col.RAW}.ts)")
    else:
        turn = "cast(null as bigint)"
    rows = rows.plus(("__foreign", f"CASE WHEN {read} THEN {fk} END"))
    return rows.select(
        (Col.SIDE, f"CASE WHEN {Col.READ} THEN 1Y ELSE 0Y END"),
        (StepCol.PK, f"CASE WHEN {ours} THEN struct({pk}) END"),
        (StepCol.FK, "CASE WHEN __foreign IS NOT NULL THEN struct(__foreign AS k) END"),
        (StepCol.LEFT, f"CASE WHEN {ours} THEN {struct_of([Col.ROWTIME, *left])} END"),
        (StepCol.RIGHT, f"CASE WHEN {theirs} THEN {struct_of([Col.ROWTIME, *right])} END"),
        (Col.SPREAD, _spread(node, ours)), (StepCol.KEY, f"struct({Col.PARTITION})"),
        (StepCol.NUMBER, f"coalesce({Col.NUMBERED}, 0L)"), (Col.TURN, turn),
        Col.ROWTIME, Col.PARTITION, Col.OFFSET, Col.DELETED, *rows.shape.headers, Col.RAW, Col.REASON,
        *rows.shape.only(Col.ORDER),
    )  # fmt: skip


def _as_read(node: ForeignKeyJoin) -> bool:
    """Whether all left rows of one primary key are in one source partition: the left table is read as it is."""
    return all(isinstance(n, Scan | Project | Filter | TableFilter) for n in node.left.nodes())


def _spread(node: ForeignKeyJoin, ours: str) -> str:
    """What rows share that one task of the first step takes: all left rows of one primary key.

    These are in one source partition where the left table is read as it is, so whole partitions stay together, and what
    they send on comes in the order of their offsets. A left table that is itself made of several (a join, groups) has
    rows of one primary key from several partitions.
    """
    partition = f"cast(coalesce({Col.PARTITION}, 0) as int)"
    if _as_read(node):
        return partition
    return f"CASE WHEN {ours} THEN hash({StepCol.PK}) ELSE {partition} END"


def _next(rows: Rows, key: str) -> Rows:
    """What a step gave as what the next one takes, which spreads it by ``key``."""
    kept = rows.shape.without(Col.ROW, StepCol.KEY, StepCol.NUMBER)
    return rows.select(*kept, (StepCol.KEY, key), (StepCol.NUMBER, f"coalesce({Col.ROW}, 0L)"))


def _sorts(context: Context) -> bool:
    """Whether rows are sorted by time, as in a backlog and after a restart."""
    return context.distribution.shuffled and (context.distribution.sorted or context.tail is not None)


def _ordered(context: Context, rows: Rows, keys: Sequence[str], first: Sequence[str] = ()) -> Rows:
    """The rows of one key in one task; where rows are sorted, by ``first``, their time, and as they were read."""
    d = context.distribution
    if not d.shuffled:
        return rows.together()
    if not _sorts(context):
        return context.shuffled(rows, keys)
    return rows.spread(d.partitions, keys, [*first, Col.TURN, *AS_READ, StepCol.NUMBER])


def _as_written(context: Context, rows: Rows) -> Rows:
    """Ahead of the last step, where a row overtakes others of its key: after a restart those first whose results are
    there, in their order. So what they had overtaken, which has no result, has none now.

    The others follow by the changes of their left row, and those of one change as the step of its foreign key gave
    them. It may have taken their records in another order than that of time: the order of before, which results in
    other partitions tell.
    """
    if context.tail is None:
        return _ordered(context, rows, [StepCol.KEY])
    written = context.tail.position(Col.PARTITION, Col.OFFSET, f"({StepCol.NUMBER} * {ROWS})")
    rows = rows.plus(
        ("__written", f"coalesce(CASE WHEN {Col.RAW} IS NULL THEN {written} END, {LAST})"),
        ("__in_task", "monotonically_increasing_id()"),
    )
    rows = _ordered(context, rows, [StepCol.KEY], ["__written", StepCol.VERSION, "__in_task"])
    return rows.drop("__written", "__in_task")
