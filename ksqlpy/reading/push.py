"""Plain push queries: SELECT columns FROM source [WHERE …] EMIT CHANGES, whose rows need no query of Spark."""

from __future__ import annotations

from typing import Any

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import TypedQuery
from ksqlpy.formats import Unreadable
from ksqlpy.reading.bulk import bulk_of
from ksqlpy.reading.calls import Calls
from ksqlpy.reading.conditions import condition_of
from ksqlpy.reading.records import Record, Rows
from ksqlpy.reading.results import Gone, projection_of
from ksqlpy.registry import SchemaRegistry

__all__ = ["PLAIN_WAY", "Plain", "plain_of"]

PLAIN_WAY = "answered in the server, without a query of Spark"
"""What EXPLAIN says of them."""


class Plain:
    """How the rows of a plain query are made of records."""

    def __init__(self, typed: TypedQuery, rows: Rows, calls: Calls | None = None) -> None:
        self._rows = rows
        exprs = [o.expr for o in typed.outputs] + ([typed.where] if typed.where is not None else [])
        found = (e.call.function.definition for x in exprs for e in t.walk(x) if isinstance(e, t.FunctionCall))
        self.functions = frozenset(d for d in found if d is not None)
        """The functions in Python that it calls: the same text may mean others later."""
        self._table = typed.relations[0].source.kind == "TABLE"
        self._condition = condition_of(typed.where, calls=calls) if typed.where is not None else None
        project = projection_of(typed.outputs, calls)
        assert project is not None
        self._project = project
        self.bulk = None if typed.where is not None else bulk_of(typed.relations[0], typed.outputs)
        """How columns of Arrow are read; None where a row is made for each record."""

    def row(self, record: Record) -> list[Any] | Gone | None:
        """The row of a record; None where it has none. Raises Unreadable."""
        if self._table and record.key is None:
            raise Unreadable("the key of a table record is null")
        row = self._rows.row(record)
        if row is None:
            return Gone(self._project(self._rows.gone(record))) if self._table else None
        if self._condition is not None and not self._condition(row):
            return None
        return self._project(row)


def plain_of(
    typed: TypedQuery, registry: SchemaRegistry | None = None, *, timed: bool = False, calls: Calls | None = None
) -> Plain | None:
    """How a push query is answered without Spark; None where it needs Spark.

    WHERE on a table does: a row that no longer meets it is taken back, and only Spark knows whether it was there.
    ``timed``: a record without a valid event time cannot be read, also where nobody asks for its time. ``calls``: of
    functions in Python, without which they need Spark.
    """
    if len(typed.relations) != 1 or typed.relations[0].view is not None:
        return None
    if typed.tables or typed.over or typed.ranking is not None or typed.grouping is not None:
        return None
    source = typed.relations[0].source
    if typed.partition_by is not None or (typed.where is not None and source.kind == "TABLE"):
        return None
    exprs = [o.expr for o in typed.outputs] + ([typed.where] if typed.where is not None else [])
    used = {e.name for x in exprs for e in t.walk(x) if isinstance(e, t.ColumnRef)}
    if timed:
        used.add(t.SYSTEM["ROWTIME"][0])
    rows = Rows(typed.relations[0], used, registry)
    if not rows.readable or projection_of(typed.outputs, calls) is None:
        return None
    if typed.where is not None and condition_of(typed.where, calls=calls) is None:
        return None
    return Plain(typed, rows, calls)
