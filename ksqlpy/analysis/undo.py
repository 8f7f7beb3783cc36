"""What aggregates must be able to do: take values back, of tables; make one state of two, in sessions."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.scope import Text
from ksqlpy.catalog import Source
from ksqlpy.functions import Aggregate, AggregateSignature

__all__ = ["check_merge", "check_undo"]


def check_undo(aggregates: Sequence[t.AggregateCall], table: Source, query: exp.Expr, text: Text) -> None:
    """Refuses aggregates that cannot forget a value; raises AnalysisProblem ``no-undo``."""
    for call in aggregates:
        assert isinstance(call.call.signature, AggregateSignature)
        if not call.call.signature.undo:
            name = call.call.function.name
            able = [f.name for f in text.functions.functions.values() if isinstance(f, Aggregate) and _undoes(f)]
            text.refuse(
                "no-undo",
                f"{name} cannot be used on table {table.name}: it cannot take values back",
                _place(name, query),
                hint=f"{', '.join(able)} can; or group the stream from which the table is made",
            )


def check_merge(aggregates: Sequence[t.AggregateCall], query: exp.Expr, text: Text) -> None:
    """Refuses aggregates of which two states cannot become one; raises AnalysisProblem ``no-merge``."""
    for call in aggregates:
        assert isinstance(call.call.signature, AggregateSignature)
        if not call.call.signature.merges:
            name = call.call.function.name
            text.refuse(
                "no-merge",
                f"{name} cannot be used in SESSION windows: it cannot make one session of two",
                _place(name, query),
                hint="give its class the method merge(one, other), which makes one state of two",
            )


def _place(name: str, query: exp.Expr) -> exp.Expr | None:
    return next((n for n in query.find_all(exp.Anonymous) if n.this.upper() == name), None)


def _undoes(function: Aggregate) -> bool:
    return all(s.undo for s in function.signatures)
