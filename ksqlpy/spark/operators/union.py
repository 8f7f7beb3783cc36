"""The branches of UNION ALL side by side.

Each record is given to every branch of its topic, one after the other. Meanwhile ``__branch`` is the number of the
branch that reads the row, null for records that something later in the plan reads; ``__origin`` is the record, so that
a row that a branch has finished looks unread to the others; ``__done`` is the finished row.
"""

from __future__ import annotations

from ksqlpy.formats import text
from ksqlpy.plan.operators import Union
from ksqlpy.spark.operators.context import Context, struct_of
from ksqlpy.spark.rows import Rows

__all__ = ["build"]


def build(node: Union, context: Context, records: Rows) -> Rows:
    """Each branch in turn reads the records of its topic; for all others they are rows not read yet."""
    rows = _spread(node, records)
    read: list[str] = []
    made: tuple[str, ...] = ()
    for i, branch in enumerate(node.branches):
        context.branch = i
        read_now = context.build(branch, rows)
        [source] = branch.relations
        if source.source.name in read:  # what another branch could not read is a dead letter already
            read_now = read_now.where(f"NOT (__branch <=> {i} AND __reason IS NOT NULL)")
        read.append(source.source.name)
        rows, made = _merge(rows, read_now)
    context.branch = None
    kept = rows.shape.without("__branch", "__origin", "__done", "__raw")
    fields = ((c, f"__done.{text.name(c)}") for c in made)
    return rows.select(*kept, *fields, ("__raw", "CASE WHEN __done IS NULL THEN __raw END"))


def _spread(node: Union, records: Rows) -> Rows:
    """A row for each branch that reads the record; where one topic is read by several, ``__row`` numbers them."""
    readers: dict[str, list[int]] = {}
    for i, branch in enumerate(node.branches):
        [relation] = branch.relations
        readers.setdefault(relation.source.topic, []).append(i)
    several = any(len(numbers) > 1 for numbers in readers.values())
    cases = " ".join(
        f"WHEN __raw.topic = {text.string(topic)} THEN "
        + (f"array({', '.join(map(str, numbers))})" if several else str(numbers[0]))
        for topic, numbers in readers.items()
    )
    if several:
        branches = f"posexplode(CASE {cases} ELSE array(cast(null as int)) END)"
        return records.several(("__row", "__branch"), branches).plus(("__origin", "__raw"))
    return records.plus(("__branch", f"CASE {cases} END"), ("__origin", "__raw"))


def _merge(before: Rows, rows: Rows) -> tuple[Rows, tuple[str, ...]]:
    """The rows of a branch among all others, those that it has finished put aside in ``__done``; and its fields."""
    own = before.shape.without("__raw", "__reason", "__done")
    made = tuple(sorted(rows.shape.without(*own, "__raw", "__reason", "__done", "__read"), key=text.name))
    earlier = " ELSE __done" if before.shape.finished else ""
    done = f"CASE WHEN __raw IS NULL THEN {struct_of(made)}{earlier} END"
    merged = rows.select(*own, ("__raw", "coalesce(__raw, __origin)"), "__reason", ("__done", done))
    return merged, made
