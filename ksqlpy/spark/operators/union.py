"""The branches of UNION ALL side by side.

Each record is given to every branch of its topic, one after the other. Meanwhile ``__branch`` is the number of the
branch that reads the row, null for records that something later in the plan reads; ``__origin`` is the record, so that
a row that a branch has finished looks unread to the others; ``__done`` is the finished row.
"""

from __future__ import annotations

from ksqlpy.formats import text
from ksqlpy.plan.operators import Union
from ksqlpy.spark.columns import Col
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
            unread = f"{Col.REASON} IS NOT NULL"
            if Col.CAME in read_now.shape.columns:  # what was read has failed in this branch
                unread += f" AND {Col.CAME} IS NULL"
            read_now = read_now.where(f"NOT ({Col.BRANCH} <=> {i} AND {unread})")
        read.append(source.source.name)
        rows, made = _merge(rows, read_now)
    context.branch = None
    kept = rows.shape.without(Col.BRANCH, Col.ORIGIN, Col.DONE, Col.RAW)
    fields = ((c, f"{Col.DONE}.{text.name(c)}") for c in made)
    return rows.select(*kept, *fields, (Col.RAW, f"CASE WHEN {Col.DONE} IS NULL THEN {Col.RAW} END"))


def _spread(node: Union, records: Rows) -> Rows:
    """A row for each branch that reads the record; where one topic is read by several, ``__row`` numbers them."""
    readers: dict[str, list[int]] = {}
    for i, branch in enumerate(node.branches):
        [relation] = branch.relations
        readers.setdefault(relation.source.topic, []).append(i)
    several = any(len(numbers) > 1 for numbers in readers.values())
    cases = " ".join(
        f"WHEN {Col.RAW}.topic = {text.string(topic)} THEN "
        + (f"array({', '.join(map(str, numbers))})" if several else str(numbers[0]))
        for topic, numbers in readers.items()
    )
    if several:
        branches = f"posexplode(CASE {cases} ELSE array(cast(null as int)) END)"
        return records.several((Col.ROW, Col.BRANCH), branches).plus((Col.ORIGIN, Col.RAW))
    return records.plus((Col.BRANCH, f"CASE {cases} END"), (Col.ORIGIN, Col.RAW))


def _merge(before: Rows, rows: Rows) -> tuple[Rows, tuple[str, ...]]:
    """The rows of a branch among all others, those that it has finished put aside in ``__done``; and its fields."""
    own = before.shape.without(Col.RAW, Col.REASON, Col.DONE)
    made = tuple(sorted(rows.shape.without(*own, Col.RAW, Col.REASON, Col.DONE, Col.READ), key=text.name))
    earlier = f" ELSE {Col.DONE}" if before.shape.finished else ""
    done = f"CASE WHEN {Col.RAW} IS NULL THEN {struct_of(made)}{earlier} END"
    merged = rows.select(*own, (Col.RAW, f"coalesce({Col.RAW}, {Col.ORIGIN})"), Col.REASON, (Col.DONE, done))
    return merged, made
