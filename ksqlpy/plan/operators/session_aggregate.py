"""GROUP BY in sessions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Window
from ksqlpy.plan.operators.contract import BY_PARTITION, Operator, TaskStep
from ksqlpy.plan.text import expression_text

__all__ = ["SessionAggregate"]


@dataclass(frozen=True)
class SessionAggregate(TaskStep):
    """Every input row begins a session of its group, makes one longer, or joins several that it lies between.

    A session reaches from its first row to its last, both included; rows up to ``windowing.size`` ms apart are in one.
    Each session that was made longer or joined leaves with a tombstone of its old bounds, in the order of their starts;
    then the new one comes out. A row is too late where its own session, with all that it joins, had ended so early that
    end + gap + grace < stream time; the stream time is that of its shuffle partition.
    """

    input: Operator
    group: tuple[t.Expr, ...]
    aggregates: tuple[t.AggregateCall, ...]
    windowing: Window

    title = "an aggregation in sessions"
    below = ("input",)
    needed = frozenset[str]()
    replay = replace(BY_PARTITION, regroups=True)
    equal = ()

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        """The group and the arguments of the aggregates."""
        return (*self.group, *(x for a in self.aggregates for x in a.arguments))

    @property
    def keys(self) -> tuple[t.Expr, ...]:
        return self.group

    @property
    def window(self) -> Window | None:
        """Kind SESSION; its size is the gap."""
        return self.windowing

    @property
    def identity(self) -> tuple[t.Expr, ...] | None:
        """The group, and both bounds of the session."""
        groups = (t.ColumnRef(k.type, f"__k{i}") for i, k in enumerate(self.group))
        return (*groups, t.system("WINDOWSTART"), t.system("WINDOWEND"))

    def explain(self) -> tuple[str, str]:
        w, group = self.windowing, ", ".join(map(expression_text, self.group))
        aggregates = ", ".join(map(expression_text, self.aggregates))
        return "Aggregate sessions", f"by {group}: {aggregates} [gap {w.size} ms, grace {w.grace} ms]"
