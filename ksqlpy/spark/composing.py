"""Queries inside queries: the projection of an inner one, and the branches of UNION ALL side by side.

The columns of rows are those of ``spark/compile.py``. A union gives each record to every branch of its topic, one after
the other; for the length of it rows have further columns:

- ``__branch``: the number of the branch that reads the row; null for records that something later in the plan reads.
- ``__origin``: the record, so that a row that a branch has finished looks unread to the others.
- ``__done``: the finished row.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from pyspark.sql import DataFrame

from ksqlpy.catalog import Source
from ksqlpy.formats import text
from ksqlpy.plan.nodes import Project, Scan, Union, nodes_of
from ksqlpy.spark.expressions import spark_text

__all__ = ["merge", "project", "source_of", "spread"]

_VALUE = re.compile(r"__[uka]\d")
"""Begins the names of columns that only the projection above them speaks of."""


def project(node: Project, rows: DataFrame, used: Collection[str]) -> DataFrame:
    """The columns of an inner query, so far as they are ``used``; a row keeps its place, and whether it was read."""
    kept = [c for c in rows.columns if c.startswith("__") and not _VALUE.match(c)]
    made = [f"{spark_text(o.expr)} AS {text.name(o.name)}" for o in node.outputs if o.name in used]
    return rows.selectExpr(*made, *kept)


def source_of(branch: Project) -> Source:
    """The source that a branch of a union reads."""
    return next(n for n in nodes_of(branch) if isinstance(n, Scan)).relation.source


def spread(node: Union, records: DataFrame) -> DataFrame:
    """A row for each branch that reads the record; where one topic is read by several, ``__row`` numbers them."""
    readers: dict[str, list[int]] = {}
    for i, branch in enumerate(node.branches):
        readers.setdefault(source_of(branch).topic, []).append(i)
    several = any(len(numbers) > 1 for numbers in readers.values())
    cases = " ".join(
        f"WHEN __raw.topic = {text.string(topic)} THEN "
        + (f"array({', '.join(map(str, numbers))})" if several else str(numbers[0]))
        for topic, numbers in readers.items()
    )
    if several:
        chosen = f"posexplode(CASE {cases} ELSE array(cast(null as int)) END) AS (__row, __branch)"
    else:
        chosen = f"CASE {cases} END AS __branch"
    return records.selectExpr("*", chosen, "__raw AS __origin")


def merge(before: DataFrame, rows: DataFrame) -> DataFrame:
    """The rows of a branch among all others: those that it has finished are put aside in ``__done``."""
    own = [c for c in before.columns if c not in ("__raw", "__reason", "__done")]
    made = sorted(c for c in rows.columns if c not in {*own, "__raw", "__reason", "__done", "__read"})
    earlier = " ELSE __done" if "__done" in before.columns else ""
    done = f"CASE WHEN __raw IS NULL THEN struct({', '.join(map(text.column, made))}){earlier} END"
    return rows.selectExpr(*own, "coalesce(__raw, __origin) AS __raw", "__reason", f"{done} AS __done")
