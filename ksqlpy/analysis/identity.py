"""What tells the rows of the result of a query apart, where that is a table."""

from __future__ import annotations

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import TypedQuery
from ksqlpy.errors import AnalysisProblem

__all__ = ["identity_of"]


def identity_of(typed: TypedQuery) -> tuple[t.Expr, ...]:
    """The expressions over the rows ahead of its projection, besides the start of its window.

    Raises AnalysisProblem ``no-identity`` for an inner query over a table that leaves its key out.
    """
    if typed.grouping is not None:
        return tuple(t.ColumnRef(k.type, f"__k{i}") for i, k in enumerate(typed.grouping.keys))
    if typed.join_key is not None:
        return (typed.join_key,)
    first = typed.relations[0]
    if not first.source.keys:
        raise AnalysisProblem("no-identity", "the inner query leaves out the key of its table", hint="select it there")
    return tuple(first.ref(c) for c in first.source.keys)
