"""WHERE on a table, and HAVING."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Window
from ksqlpy.plan.operators.contract import Depends, Lanes, Operator, Replay, Results
from ksqlpy.plan.text import expression_text

__all__ = ["TableFilter"]


@dataclass(frozen=True)
class TableFilter(Operator):
    """A row that fails becomes a tombstone if its key's last row had passed.

    ``key``: the expressions that identify a row (ksqlDB: first-time suppression of tombstones).
    """

    input: Operator
    predicate: t.Expr
    key: tuple[t.Expr, ...]

    @property
    def title(self) -> str:
        """As messages name it."""
        return "a filter of a table or HAVING"

    @property
    def of_groups(self) -> bool:
        """Whether it is HAVING: its rows come from groups, by whose keys they lie together already."""
        return self.input.replay.regroups

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """One."""
        return (self.input,)

    @property
    def lookups(self) -> tuple[Operator, ...]:
        """None."""
        return ()

    def with_inputs(self, inputs: Sequence[Operator]) -> Self:
        """The same filter over another input."""
        return replace(self, input=inputs[0])

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        """The predicate and the key."""
        return (self.predicate, *self.key)

    @property
    def needed(self) -> frozenset[str]:
        """None: its expressions name what it needs."""
        return frozenset()

    @property
    def keys(self) -> tuple[t.Expr, ...]:
        """The key of the table."""
        return self.key

    @property
    def stages(self) -> int:
        """One, unless the groups of its input are its own."""
        return 0 if self.of_groups else 1

    @property
    def stateful(self) -> bool:
        """It remembers whether the last row of a key had passed."""
        return True

    @property
    def window(self) -> Window | None:
        """None: it leaves rows in their windows."""
        return None

    @property
    def identity(self) -> tuple[t.Expr, ...] | None:
        """As its input."""
        return self.input.identity

    @property
    def results(self) -> Results:
        """One for each row."""
        return Results.ONE

    @property
    def replay(self) -> Replay:
        """A row that fails may leave no result."""
        return Replay(Depends.HISTORY, Lanes.KEPT, silent=True)

    @property
    def equal(self) -> tuple[t.Expr, ...]:
        """None."""
        return ()

    def keeps_key(self, keys: Sequence[t.Expr]) -> bool:
        """False: its rows are those of a table."""
        return False

    @property
    def needs_batches(self) -> str | None:
        """None."""
        return None

    def passive(self, *, stateful: bool) -> bool:
        """Where its state need not be kept: not HAVING, which goes with the state of the groups."""
        return not stateful and not self.of_groups

    @property
    def upgradable(self) -> bool:
        """True, if it stays as it is, or begins anew."""
        return True

    def upgrade(self, new: Self) -> str | None:
        """What had passed was told by the predicate, and by what passed the filters below."""
        return None if self == new else f"{self.title} would change, and it remembers rows"

    def explain(self) -> tuple[str, str]:
        """The predicate."""
        return "Filter table", expression_text(self.predicate)
