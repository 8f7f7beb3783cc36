"""WHERE on a table, and HAVING: a row that fails is a tombstone if its key's last row had passed."""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.plan.operators import TableFilter
from ksqlpy.spark.counting import holds
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.marks import last_needed
from ksqlpy.spark.operators.context import Context, struct_of
from ksqlpy.spark.rows import Rows

__all__ = ["build"]


def build(node: TableFilter, context: Context, records: Rows) -> Rows:
    """The rows that pass, and the tombstones of those that do not any more."""
    rows = context.build(node.input, records)
    windowed = rows.shape.windowed
    names = [spark_text(k) for k in node.key if not (windowed and spark_text(k) == "`__ws`")]
    keys = [*names, "__ws", "__wend"] if windowed else names
    if not rows.shape.counted:
        rows = _counted(context, rows, keys)
    carried = rows.shape.without("__del")
    passes = f"(NOT __del AND {holds(node.predicate, context.name)})"
    rows = rows.plus(("__pass", f"(__raw IS NULL AND {passes})"))
    rows = rows.grouped(
        {k if k == "__wend" else f"__g{i}": k for i, k in enumerate(keys)},
        {
            "__passed": "max(CASE WHEN __pass THEN __seq END)",
            "__needed": last_needed("__pass", names),
            "__r": f"last({struct_of(carried)})",
        },
    )
    rows = rows.where("__r.__raw IS NOT NULL OR __needed = 1Y OR __passed = __r.__seq - 1")
    return rows.unpacked("__r", carried, ("__del", "__needed = 0Y"))


def _counted(context: Context, rows: Rows, keys: Sequence[str]) -> Rows:
    """Adds ``__seq``: the how-many-th row of its key this is."""
    carried = rows.shape.without("__del", "__source")
    count = "count(CASE WHEN __raw IS NULL THEN 1 END)" if len(keys) > 1 else "count(1)"  # see last_needed
    rows = context.distribute(rows, list(keys)).grouped(
        {f"__g{i}": f"CASE WHEN __raw IS NULL THEN {k} END" for i, k in enumerate(keys)},
        {"__seq": count, "__needed": last_needed("NOT __del", keys), "__r": f"last({struct_of(carried)})"},
    )
    return rows.unpacked("__r", carried, ("__del", "__needed = 0Y"), "__seq")
