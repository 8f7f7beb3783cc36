"""WHERE on a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from ksqlpy.analysis import typed as t
from ksqlpy.plan.operators.contract import Depends, Lanes, Operator, Passive, Replay, Results, Stateless
from ksqlpy.plan.text import expression_text

__all__ = ["Filter"]


@dataclass(frozen=True)
class Filter(Stateless):
    """Keeps the rows of a stream for which the predicate is true; records without a value never pass."""

    input: Operator
    predicate: t.Expr

    title = "a filter"
    below = ("input",)
    identity = None
    results = Results.ONE
    replay = Replay(Depends.ROW, Lanes.KEPT)
    passive = Passive.ALWAYS
    upgradable = True

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        return (self.predicate,)

    def keeps_key(self, keys: Sequence[t.Expr]) -> bool:
        return self.input.keeps_key(keys)

    def upgrade(self, new: Self) -> str | None:
        """None: any predicate takes over from any other."""
        return None

    def explain(self) -> tuple[str, str]:
        return "Filter", expression_text(self.predicate)
