"""Table functions: a row for each item of their arrays."""

from __future__ import annotations

from ksqlpy.functions import Signature
from ksqlpy.functions.sparktext import tried
from ksqlpy.plan.letters import makes_letters
from ksqlpy.plan.operators import FlatMap
from ksqlpy.spark.columns import Col
from ksqlpy.spark.deadrows import set_aside, tried_values
from ksqlpy.spark.expressions import failure_text, spark_text
from ksqlpy.spark.operators.context import Context
from ksqlpy.spark.provenance import ROWS, counted
from ksqlpy.spark.rows import Rows

__all__ = ["build"]


def build(node: FlatMap, context: Context, records: Rows) -> Rows:
    """The arrays side by side, the shorter filled up with nulls; ``__row`` numbers the rows."""
    rows = context.build(node.input, records)
    arrays, made = list[str](), list[str]()
    for call in node.calls:
        signature = call.call.signature
        assert isinstance(signature, Signature)
        array = signature.spark([spark_text(a) for a in call.arguments], call.call.arguments)
        # A function in Python sees to its exceptions itself: one may be to stop the query.
        array = f"coalesce({array if call.call.function.definition is not None else tried(array)}, array())"
        failed = [f for a in call.arguments if (f := failure_text(a)) is not None]
        if failed:
            condition = counted(context.name + ":failed", " OR ".join(failed))
            array = f"CASE WHEN {condition} THEN array() ELSE {array} END"
        arrays.append(array)
    if context.letters and makes_letters(node.calls):
        rows, made = tried_values(rows, arrays, f"{Col.RAW} IS NULL AND NOT {Col.DELETED}")
        rows, arrays = set_aside(rows), [f"coalesce({c}, array())" for c in made]  # Spark names the items of columns
    # A record without a value has no rows.
    zipped = f"WHEN NOT {Col.DELETED} THEN arrays_zip({', '.join(arrays)})"
    zipped = f"CASE WHEN {Col.RAW} IS NOT NULL THEN array(null) {zipped} END"
    kept = rows.shape.without(Col.ROW, *made)
    number = f"{Col.ROW} * {ROWS} + __item" if rows.shape.numbered else "__item"
    rows = rows.several(("__item", "__items"), f"posexplode({zipped})")
    return rows.select(*kept, (Col.ROW, number), *((f"__u{i}", f"__items.`{i}`") for i in range(len(arrays))))
