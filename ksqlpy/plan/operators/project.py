"""The columns of a result, or of a query inside the query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Output
from ksqlpy.plan.operators.contract import Depends, Lanes, Operator, Replay, Results, Stateless
from ksqlpy.plan.text import expression_text

__all__ = ["Project"]


@dataclass(frozen=True)
class Project(Stateless):
    """The result's columns; of an inner query under the internal names by which the outer one speaks of them."""

    input: Operator
    outputs: tuple[Output, ...]

    @property
    def title(self) -> str:
        """As messages name it."""
        return "a query inside the query"

    @property
    def column(self) -> Callable[[t.Expr], t.Expr | None]:
        """For :func:`.typed.rewrite`: the expression behind a column that it makes."""
        named = {o.name: o.expr for o in self.outputs}
        return lambda e: named.get(e.name) if isinstance(e, t.ColumnRef) else None

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """One."""
        return (self.input,)

    def with_inputs(self, inputs: Sequence[Operator]) -> Self:
        """The same columns over another input."""
        return replace(self, input=inputs[0])

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        """Those of all columns."""
        return tuple(o.expr for o in self.outputs)

    @property
    def identity(self) -> tuple[t.Expr, ...] | None:
        """None: a filter of its rows is put below it."""
        return None

    @property
    def results(self) -> Results:
        """One."""
        return Results.ONE

    @property
    def replay(self) -> Replay:
        """A row stays where it is."""
        return Replay(Depends.ROW, Lanes.KEPT)

    def keeps_key(self, keys: Sequence[t.Expr]) -> bool:
        """Where the columns are keys of its input."""
        named = {o.name: o.expr for o in self.outputs}
        inside = [named[k.name] for k in keys if isinstance(k, t.ColumnRef)]
        return len(inside) == len(keys) and self.input.keeps_key(inside)

    def passive(self, *, stateful: bool) -> bool:
        """Where no state is made of its columns."""
        return not stateful

    @property
    def upgradable(self) -> bool:
        """True."""
        return True

    def upgrade(self, new: Self) -> str | None:
        """What is remembered was made of its columns, and of what passed the filters below."""
        if self == new:
            return None
        return "the columns of an inner query would change, and what is remembered was made of them"

    def explain(self) -> tuple[str, str]:
        """Each column."""
        mark = {o.name: " KEY" if o.key else " HEADERS" if o.header else "" for o in self.outputs}
        shown = (f"{expression_text(o.expr)} AS {o.name}{mark[o.name]}" for o in self.outputs)
        return "Project", ", ".join(shown)
