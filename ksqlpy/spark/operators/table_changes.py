"""The rows of a table with those that they replace."""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.plan.operators import TableChanges
from ksqlpy.spark.columns import Cell, Col
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.operators.context import AS_READ, Context, struct_of
from ksqlpy.spark.operators.doubles import key_of
from ksqlpy.spark.provenance import last_needed
from ksqlpy.spark.rows import Rows

__all__ = ["build"]


def build(node: TableChanges, context: Context, records: Rows) -> Rows:
    """Adds ``__old``, the row of the same key that a row replaces, null if there is none, or a tombstone."""
    rows = context.changed(context.build(node.input, records))
    keys = [key_of(context.plan, spark_text(k), k.type) for k in node.key]
    # Rows of joined tables are numbered in the order of their key already.
    order = [Col.SEQ] if rows.shape.seen_of_group else AS_READ
    group = {f"{Cell.GROUP}{i}": f"CASE WHEN {Col.RAW} IS NULL THEN {k} END" for i, k in enumerate(keys)}
    rows = _with_replaced(context.distribute(rows.plus(*group.items()), list(group), order), list(group), keys)
    return rows.plus((Col.LANE, context.lane_of_table(keys))) if context.watched else rows


def _with_replaced(rows: Rows, group: Sequence[str], keys: Sequence[str]) -> Rows:
    last = rows.shape.only(Col.RAW, Col.REASON, Col.HEADERS)
    columns = rows.shape.without(*last, *group)
    rows = rows.grouped(
        {n: n for n in group},
        {
            "__rows": f"ksqlpy_last_two(CASE WHEN {Col.RAW} IS NULL THEN {struct_of(columns)} END)",
            Cell.NEEDED: last_needed(f"NOT {Col.DELETED}", keys),
            Cell.LAST: f"last({struct_of(last)})",
        },
    )
    rows = rows.select(*rows.shape.columns, *((c, f"{Cell.LAST}.{c}") for c in last))
    rows = rows.select(
        ("__new", f"CASE WHEN {Col.RAW} IS NULL THEN __rows.now END"),
        (Col.OLD, f"CASE WHEN {Col.RAW} IS NULL THEN __rows.before END"),
        (Col.DELETED, f"{Cell.NEEDED} = 0Y"),
        *last,
    )
    new = [c for c in columns if c != Col.DELETED]
    return rows.unpacked(
        "__new", new, Col.DELETED, (Col.OLD, f"CASE WHEN NOT {Col.OLD}.{Col.DELETED} THEN {Col.OLD} END"), *last
    )
