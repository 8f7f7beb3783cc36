"""WHERE on a table, and HAVING: a row that fails is a tombstone if its key's last row had passed."""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.plan.operators import TableFilter
from ksqlpy.spark.columns import Cell, Col
from ksqlpy.spark.counted_failures import holds
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.operators.context import Context, struct_of
from ksqlpy.spark.operators.doubles import key_texts, without_bits
from ksqlpy.spark.provenance import last_needed
from ksqlpy.spark.rows import Rows

__all__ = ["build"]


def build(node: TableFilter, context: Context, records: Rows) -> Rows:
    """The rows that pass, and the tombstones of those that do not any more."""
    rows = context.build(node.input, records)
    windowed = rows.shape.windowed
    named = [k for k in node.key if not (windowed and spark_text(k) == f"`{Col.WINDOW_START}`")]
    names = key_texts(context.plan, named, [spark_text(k) for k in named], rows.shape)
    keys = [*names, Col.WINDOW_START, Col.WINDOW_CLOSE] if windowed else names
    group = {k if k == Col.WINDOW_CLOSE else f"{Cell.GROUP}{i}": k for i, k in enumerate(keys)}
    if not rows.shape.counted:
        rows = _counted(context, rows, keys)
        if not windowed:
            group = {n: n for n in group}  # the same columns, else Spark would shuffle once more
    carried = without_bits(rows.shape.without(Col.DELETED, *(n for n in group if n != Col.WINDOW_CLOSE)))
    passes = f"(NOT {Col.DELETED} AND {holds(node.predicate, context.name)})"
    rows = rows.plus(("__pass", f"({Col.RAW} IS NULL AND {passes})"))
    rows = rows.grouped(
        group,
        {
            "__passed": f"max(CASE WHEN __pass THEN {Col.SEQ} END)",
            Cell.NEEDED: last_needed("__pass", names),
            Cell.ROW: f"last({struct_of(carried)})",
        },
    )
    rows = rows.where(f"{Cell.ROW}.{Col.RAW} IS NOT NULL OR {Cell.NEEDED} = 1Y OR __passed = {Cell.ROW}.{Col.SEQ} - 1")
    return rows.unpacked(Cell.ROW, carried, (Col.DELETED, f"{Cell.NEEDED} = 0Y"))


def _counted(context: Context, rows: Rows, keys: Sequence[str]) -> Rows:
    """Adds ``__seq``: the how-many-th row of its key this is."""
    carried = rows.shape.without(Col.DELETED, Col.SOURCE)
    count = f"count(CASE WHEN {Col.RAW} IS NULL THEN 1 END)" if len(keys) > 1 else "count(1)"  # see last_needed
    group = {f"{Cell.GROUP}{i}": f"CASE WHEN {Col.RAW} IS NULL THEN {k} END" for i, k in enumerate(keys)}
    rows = context.distribute(rows.plus(*group.items()), list(group)).grouped(
        {n: n for n in group},
        {Col.SEQ: count, Cell.NEEDED: last_needed(f"NOT {Col.DELETED}", keys), Cell.ROW: f"last({struct_of(carried)})"},
    )
    return rows.unpacked(Cell.ROW, carried, (Col.DELETED, f"{Cell.NEEDED} = 0Y"), Col.SEQ, *group)
