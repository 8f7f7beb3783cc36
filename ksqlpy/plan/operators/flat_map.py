"""Table functions in the SELECT list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ksqlpy.analysis import typed as t
from ksqlpy.plan.operators.contract import Depends, Lanes, Operator, Passive, Replay, Results, Stateless
from ksqlpy.plan.text import expression_text

__all__ = ["FlatMap"]


@dataclass(frozen=True)
class FlatMap(Stateless):
    """A row becomes as many as the longest table function has values; ``__u0``, ``__u1``, … hold the values."""

    input: Operator
    calls: tuple[t.TableCall, ...]

    title = "the step table functions"
    below = ("input",)
    identity = None
    results = Results.MANY
    # Some of a row's results may be there: the others must be made of the same row.
    replay = Replay(Depends.HISTORY, Lanes.KEPT)
    passive = Passive.NEVER
    upgradable = False  # the number of a row is part of its place

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        return tuple(x for c in self.calls for x in c.arguments)

    def keeps_key(self, keys: Sequence[t.Expr]) -> bool:
        return self.input.keeps_key(keys)

    def explain(self) -> tuple[str, str]:
        return "Flat map", ", ".join(map(expression_text, self.calls))
