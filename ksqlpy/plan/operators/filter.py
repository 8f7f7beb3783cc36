"""WHERE on a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from ksqlpy.analysis import typed as t
from ksqlpy.plan.operators.contract import Depends, Lanes, Operator, Replay, Results, Stateless
from ksqlpy.plan.text import expression_text

__all__ = ["Filter"]


@dataclass(frozen=True)
class Filter(Stateless):
    """Keeps the rows of a stream for which the predicate is true; records without a value never pass."""

    input: Operator
    predicate: t.Expr

    @property
    def title(self) -> str:
        """As messages name it."""
        return "a filter"

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """One."""
        return (self.input,)

    def with_inputs(self, inputs: Sequence[Operator]) -> Self:
        """The same filter over another input."""
        return replace(self, input=inputs[0])

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        """The predicate."""
        return (self.predicate,)

    @property
    def identity(self) -> tuple[t.Expr, ...] | None:
        """None: its rows are those of a stream."""
        return None

    @property
    def results(self) -> Results:
        """One."""
        return Results.ONE

    @property
    def replay(self) -> Replay:
        """Whether a row passes depends on the row alone."""
        return Replay(Depends.ROW, Lanes.KEPT)

    def keeps_key(self, keys: Sequence[t.Expr]) -> bool:
        """As its input."""
        return self.input.keeps_key(keys)

    def passive(self, *, stateful: bool) -> bool:
        """True."""
        return True

    @property
    def upgradable(self) -> bool:
        """True."""
        return True

    def upgrade(self, new: Self) -> str | None:
        """Any predicate takes over from any other."""
        return None

    def explain(self) -> tuple[str, str]:
        """The predicate."""
        return "Filter", expression_text(self.predicate)
