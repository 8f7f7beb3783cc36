"""The first n rows of each group: ROW_NUMBER, limited."""

from __future__ import annotations

from dataclasses import dataclass

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import RANK
from ksqlpy.plan.operators.contract import BY_PARTITION, Operator, TaskStep
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

    title = "the step ROW_NUMBER"
    below = ("input",)
    needed = frozenset[str]()
    window = None
    replay = BY_PARTITION
    equal = ()

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        return (*self.partition, *(k.expr for k in self.order))

    @property
    def keys(self) -> tuple[t.Expr, ...]:
        return self.partition

    @property
    def identity(self) -> tuple[t.Expr, ...]:
        """The group and the rank."""
        return (*self.partition, RANK)

    def explain(self) -> tuple[str, str]:
        """How many rows, of what groups, in what order."""
        order = ", ".join(expression_text(k.expr) + (" DESC" if k.descending else "") for k in self.order)
        return "Top n", f"{self.limit} of each {listed(self.partition)} by {order}"
