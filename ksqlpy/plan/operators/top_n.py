"""The first n rows of each group: ROW_NUMBER, limited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import RANK
from ksqlpy.plan.operators.contract import Operator, TaskStep
from ksqlpy.plan.text import expression_text, listed

__all__ = ["TopN"]


@dataclass(frozen=True)
class TopN(TaskStep):
    """A table of the first ``limit`` rows of each group of a stream, as ``order`` sorts them; ``__o0`` is the rank.

    Of rows that are equal in this order the one that arrived first comes first. A row that enters the first ``limit``
    changes its rank and all behind it: each comes out with the ROWTIME of the row that enters.
    """

    input: Operator
    partition: tuple[t.Expr, ...]
    order: tuple[t.SortKey, ...]
    limit: int

    @property
    def title(self) -> str:
        """As messages name it."""
        return "the step ROW_NUMBER"

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """One."""
        return (self.input,)

    def with_inputs(self, inputs: Sequence[Operator]) -> Self:
        """The same of another input."""
        return replace(self, input=inputs[0])

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        """What is partitioned by, and what sorts."""
        return (*self.partition, *(k.expr for k in self.order))

    @property
    def keys(self) -> tuple[t.Expr, ...]:
        """PARTITION BY."""
        return self.partition

    @property
    def identity(self) -> tuple[t.Expr, ...]:
        """The group and the rank."""
        return (*self.partition, RANK)

    def upgrade(self, new: Self) -> str | None:
        """Never, if anything changes."""
        same = replace(self, input=new.input) == new
        return None if same else f"{self.title} would change, and it remembers rows"

    def explain(self) -> tuple[str, str]:
        """How many rows, of what groups, in what order."""
        order = ", ".join(expression_text(k.expr) + (" DESC" if k.descending else "") for k in self.order)
        return "Top n", f"{self.limit} of each {listed(self.partition)} by {order}"
