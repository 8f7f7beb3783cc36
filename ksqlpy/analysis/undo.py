"""Aggregates of tables: a row may change, or go, so that they must take values back."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.scope import Text
from ksqlpy.catalog import Source
from ksqlpy.functions import FUNCTIONS, Aggregate, AggregateSignature

__all__ = ["check_undo"]


def check_undo(aggregates: Sequence[t.AggregateCall], table: Source, query: exp.Expr, text: Text) -> None:
    """Refuses aggregates that cannot forget a value; raises AnalysisProblem ``no-undo``."""
    for call in aggregates:
        assert isinstance(call.call.signature, AggregateSignature)
        if not call.call.signature.undo:
            name = call.call.function.name
            at = next((n for n in query.find_all(exp.Anonymous) if n.this.upper() == name), None)
            able = [f.name for f in FUNCTIONS.functions.values() if isinstance(f, Aggregate) and _undoes(f)]
            text.refuse(
                "no-undo",
                f"{name} cannot be used on table {table.name}: it cannot take values back",
                at,
                hint=f"{', '.join(able)} can; or group the stream from which the table is made",
            )


def _undoes(function: Aggregate) -> bool:
    return all(s.undo for s in function.signatures)
