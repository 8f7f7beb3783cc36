"""LAG and LEAD: values of the rows before and after in a key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from ksqlpy.analysis import typed as t
from ksqlpy.plan.operators.contract import Operator, TaskStep
from ksqlpy.plan.text import expression_text

__all__ = ["LagLead"]


@dataclass(frozen=True)
class LagLead(TaskStep):
    """Each row of a stream with values of its neighbours among those of equal PARTITION BY, as they arrive.

    ``calls`` have all the same PARTITION BY; ``__o0``, ``__o1``, … hold their values. A row comes out when the last row
    that LEAD looks at has arrived, with its own ROWTIME; without LEAD at once. Records without a value are no rows.
    """

    input: Operator
    calls: tuple[t.OverCall, ...]

    @property
    def title(self) -> str:
        """As messages name it."""
        return "the step LAG and LEAD"

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """One."""
        return (self.input,)

    def with_inputs(self, inputs: Sequence[Operator]) -> Self:
        """The same of another input."""
        return replace(self, input=inputs[0])

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        """What is partitioned by, the values and the defaults."""
        return (*self.keys, *(e for c in self.calls for e in (c.value, c.default) if e is not None))

    @property
    def keys(self) -> tuple[t.Expr, ...]:
        """PARTITION BY."""
        return self.calls[0].partition

    @property
    def identity(self) -> tuple[t.Expr, ...] | None:
        """None: its rows are those of a stream."""
        return None

    def upgrade(self, new: Self) -> str | None:
        """Never, if anything changes."""
        return None if self.calls == new.calls else f"{self.title} would change, and it remembers rows"

    def explain(self) -> tuple[str, str]:
        """The calls."""
        return "Lag and lead", ", ".join(map(expression_text, self.calls))
