"""WHERE on a table, and HAVING."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from ksqlpy.analysis import typed as t
from ksqlpy.plan.operators.contract import Depends, Lanes, Operator, Passive, Replay, Results, Stateful
from ksqlpy.plan.text import expression_text

__all__ = ["TableFilter"]


@dataclass(frozen=True)
class TableFilter(Stateful):
    """A row that fails becomes a tombstone if its key's last row had passed.

    ``key``: the expressions that identify a row (ksqlDB: first-time suppression of tombstones).
    """

    input: Operator
    predicate: t.Expr
    key: tuple[t.Expr, ...]

    title = "a filter of a table or HAVING"
    below = ("input",)
    lookups = ()
    needed = frozenset[str]()
    window = None
    results = Results.ONE
    replay = Replay(Depends.HISTORY, Lanes.KEPT, silent=True)  # a row that fails may leave no result
    equal = ()
    upgradable = True  # if it stays as it is, or starts over

    @property
    def of_groups(self) -> bool:
        """Whether it is HAVING: its rows come from groups, by whose keys they lie together already."""
        return self.input.replay.regroups

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        return (self.predicate, *self.key)

    @property
    def keys(self) -> tuple[t.Expr, ...]:
        return self.key

    @property
    def stages(self) -> int:
        """One, unless the groups of its input are its own."""
        return 0 if self.of_groups else 1

    @property
    def identity(self) -> tuple[t.Expr, ...] | None:
        return self.input.identity

    @property
    def passive(self) -> Passive:
        """HAVING goes with the state of the groups."""
        return Passive.NEVER if self.of_groups else Passive.WITHOUT_STATE

    def upgrade(self, new: Self) -> str | None:
        """What had passed was told by the predicate, and by what passed the filters below."""
        return None if self == new else f"{self.title} would change, and it remembers rows"

    def explain(self) -> tuple[str, str]:
        return "Filter table", expression_text(self.predicate)
