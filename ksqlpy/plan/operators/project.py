"""The columns of a result, or of a query inside the query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Output
from ksqlpy.plan.operators.contract import Depends, Lanes, Operator, Passive, Replay, Results, Stateless
from ksqlpy.plan.text import expression_text

__all__ = ["Project"]


@dataclass(frozen=True)
class Project(Stateless):
    """The result's columns; of an inner query under the internal names by which the outer one speaks of them."""

    input: Operator
    outputs: tuple[Output, ...]

    title = "a query inside the query"
    below = ("input",)
    identity = None  # a filter of its rows is put below it
    results = Results.ONE
    replay = Replay(Depends.ROW, Lanes.KEPT)
    passive = Passive.WITHOUT_STATE
    upgradable = True

    @property
    def column(self) -> Callable[[t.Expr], t.Expr | None]:
        """For :func:`.typed.rewrite`: the expression behind a column that it makes."""
        named = {o.name: o.expr for o in self.outputs}
        return lambda e: named.get(e.name) if isinstance(e, t.ColumnRef) else None

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        return tuple(o.expr for o in self.outputs)

    def keeps_key(self, keys: Sequence[t.Expr]) -> bool:
        """Where the columns are keys of its input."""
        named = {o.name: o.expr for o in self.outputs}
        inside = [named[k.name] for k in keys if isinstance(k, t.ColumnRef)]
        return len(inside) == len(keys) and self.input.keeps_key(inside)

    def upgrade(self, new: Self) -> str | None:
        """What is remembered was made of its columns, and of what passed the filters below."""
        if self == new:
            return None
        return "the columns of an inner query would change, and what is remembered was made of them"

    def explain(self) -> tuple[str, str]:
        mark = {o.name: " KEY" if o.key else " HEADERS" if o.header else "" for o in self.outputs}
        shown = (f"{expression_text(o.expr)} AS {o.name}{mark[o.name]}" for o in self.outputs)
        return "Project", ", ".join(shown)
