"""GROUP BY, with or without a window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Window
from ksqlpy.plan.operators.contract import Depends, Lanes, Operator, Passive, Replay, Results, Stateful
from ksqlpy.plan.operators.table_changes import TableChanges
from ksqlpy.plan.text import expression_text, listed

__all__ = ["Aggregate"]


@dataclass(frozen=True)
class Aggregate(Stateful):
    """Every input row updates its group (and window) and the new result comes out at once.

    Over :class:`.TableChanges` the replaced row goes out of its group, with a result of its own if that is another one.
    """

    input: Operator
    group: tuple[t.Expr, ...]
    aggregates: tuple[t.AggregateCall, ...]
    windowing: Window | None

    below = ("input",)
    lookups = ()
    needed = frozenset[str]()
    # Rows with a result come in the order of their results, all others behind them.
    replay = Replay(Depends.HISTORY, Lanes.KEPT, regroups=True)
    equal = ()
    passive = Passive.NEVER

    @property
    def title(self) -> str:
        return "an aggregation" if self.windowing is None else "a windowed aggregation"

    @property
    def of_table(self) -> bool:
        """Whether rows of a table are grouped, so that those that are replaced leave their group."""
        return isinstance(self.input, TableChanges)

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        """The group and the arguments of the aggregates."""
        return (*self.group, *(x for a in self.aggregates for x in a.arguments))

    @property
    def keys(self) -> tuple[t.Expr, ...]:
        return self.group

    @property
    def stages(self) -> int:
        """One; with a window one more ahead of it, for the stream time of each source partition."""
        return 1 if self.windowing is None else 2

    @property
    def window(self) -> Window | None:
        return self.windowing

    @property
    def identity(self) -> tuple[t.Expr, ...] | None:
        """The group, and the start of its window."""
        groups = (t.ColumnRef(k.type, f"__k{i}") for i, k in enumerate(self.group))
        return (*groups, *(() if self.windowing is None else (t.system("WINDOWSTART"),)))

    @property
    def results(self) -> Results:
        """One; several of a table, whose rows leave one group and enter another, and in windows that overlap."""
        overlap = self.windowing is not None and self.windowing.advance < self.windowing.size
        return Results.MANY if self.of_table or overlap else Results.ONE

    @property
    def upgradable(self) -> bool:
        """Not in windows."""
        return self.windowing is None

    def upgrade(self, new: Self) -> str | None:
        """Group and aggregates must stay."""
        if self.group != new.group:
            return f"GROUP BY would be {listed(new.group)}, not {listed(self.group)}"
        if self.aggregates != new.aggregates:
            return f"the aggregates would be {listed(new.aggregates)}, not {listed(self.aggregates)}"
        return None

    def explain(self) -> tuple[str, str]:
        """The group, the aggregates and the window."""
        group = ", ".join(map(expression_text, self.group))
        detail = f"by {group}: {', '.join(map(expression_text, self.aggregates))}"
        if (w := self.windowing) is not None:
            advance = f", advance {w.advance} ms" if w.kind == "HOPPING" else ""
            late = f", late records to topic {w.late_topic}" if w.late_topic is not None else ""
            detail += f" [{w.kind} {w.size} ms{advance}, grace {w.grace} ms{late}]"
        return "Aggregate", detail
