"""LAG and LEAD: values of the rows before and after in a key."""

from __future__ import annotations

from dataclasses import dataclass

from ksqlpy.analysis import typed as t
from ksqlpy.plan.operators.contract import BY_PARTITION, Operator, TaskStep
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

    title = "the step LAG and LEAD"
    below = ("input",)
    needed = frozenset[str]()
    window = None
    identity = None
    replay = BY_PARTITION
    equal = ()

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        """What is partitioned by, the values and the defaults."""
        return (*self.keys, *(e for c in self.calls for e in (c.value, c.default) if e is not None))

    @property
    def keys(self) -> tuple[t.Expr, ...]:
        return self.calls[0].partition

    def explain(self) -> tuple[str, str]:
        return "Lag and lead", ", ".join(map(expression_text, self.calls))
