"""Table functions in the SELECT list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from ksqlpy.analysis import typed as t
from ksqlpy.plan.operators.contract import Depends, Lanes, Operator, Replay, Results, Stateless
from ksqlpy.plan.text import expression_text

__all__ = ["FlatMap"]


@dataclass(frozen=True)
class FlatMap(Stateless):
    """A row becomes as many as the longest table function has values; ``__u0``, ``__u1``, … hold the values."""

    input: Operator
    calls: tuple[t.TableCall, ...]

    @property
    def title(self) -> str:
        """As messages name it."""
        return "the step table functions"

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """One."""
        return (self.input,)

    def with_inputs(self, inputs: Sequence[Operator]) -> Self:
        """The same table functions over another input."""
        return replace(self, input=inputs[0])

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        """The arguments."""
        return tuple(x for c in self.calls for x in c.arguments)

    @property
    def identity(self) -> tuple[t.Expr, ...] | None:
        """None: its rows are those of a stream."""
        return None

    @property
    def results(self) -> Results:
        """As many as there are values."""
        return Results.MANY

    @property
    def replay(self) -> Replay:
        """Some of a row's results may be there: the others must be made of the same row."""
        return Replay(Depends.HISTORY, Lanes.KEPT)

    def keeps_key(self, keys: Sequence[t.Expr]) -> bool:
        """As its input."""
        return self.input.keeps_key(keys)

    def passive(self, *, stateful: bool) -> bool:
        """False."""
        return False

    @property
    def upgradable(self) -> bool:
        """False: the number of a row is part of its place."""
        return False

    def upgrade(self, new: Self) -> str | None:
        """Never, if anything changes."""
        return None if self.calls == new.calls else f"{self.title} would change"

    def explain(self) -> tuple[str, str]:
        """The calls."""
        return "Flat map", ", ".join(map(expression_text, self.calls))
