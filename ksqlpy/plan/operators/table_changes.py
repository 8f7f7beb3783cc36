"""The rows of a table with those that they replace, ahead of GROUP BY."""

from __future__ import annotations

from dataclasses import dataclass

from ksqlpy.analysis import typed as t
from ksqlpy.plan.operators.contract import Depends, Lanes, Operator, Passive, Replay, Results, Stateful
from ksqlpy.plan.text import expression_text

__all__ = ["TableChanges"]


@dataclass(frozen=True)
class TableChanges(Stateful):
    """The rows of a table, each together with the row of its key that it replaces; ``key`` is the primary key."""

    input: Operator
    key: tuple[t.Expr, ...]

    title = "the step table changes"
    below = ("input",)
    lookups = ()
    needed = frozenset[str]()
    stages = 1
    window = None
    results = Results.ONE  # the groups above make two of it
    # The row that is replaced is the one before. With HAVING, a lane is a source partition and a part of keys.
    replay = Replay(Depends.HISTORY, Lanes.OWN)
    equal = ()
    passive = Passive.NEVER
    upgradable = False

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        return self.key

    @property
    def keys(self) -> tuple[t.Expr, ...]:
        return self.key

    @property
    def identity(self) -> tuple[t.Expr, ...] | None:
        return self.key

    def explain(self) -> tuple[str, str]:
        return "Changes of table", f"by {', '.join(map(expression_text, self.key))}"
