"""The rows of a table with those that they replace, ahead of GROUP BY."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Window
from ksqlpy.plan.operators.contract import Depends, Lanes, Operator, Replay, Results
from ksqlpy.plan.text import expression_text

__all__ = ["TableChanges"]


@dataclass(frozen=True)
class TableChanges(Operator):
    """The rows of a table, each together with the row of its key that it replaces; ``key`` is the primary key."""

    input: Operator
    key: tuple[t.Expr, ...]

    @property
    def title(self) -> str:
        """As messages name it."""
        return "the step table changes"

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """One."""
        return (self.input,)

    @property
    def lookups(self) -> tuple[Operator, ...]:
        """None."""
        return ()

    def with_inputs(self, inputs: Sequence[Operator]) -> Self:
        """The same over another input."""
        return replace(self, input=inputs[0])

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        """The primary key."""
        return self.key

    @property
    def needed(self) -> frozenset[str]:
        """None: its expressions name what it needs."""
        return frozenset()

    @property
    def keys(self) -> tuple[t.Expr, ...]:
        """The primary key."""
        return self.key

    @property
    def stages(self) -> int:
        """One."""
        return 1

    @property
    def stateful(self) -> bool:
        """The last row of each key."""
        return True

    @property
    def window(self) -> Window | None:
        """None."""
        return None

    @property
    def identity(self) -> tuple[t.Expr, ...] | None:
        """The primary key."""
        return self.key

    @property
    def results(self) -> Results:
        """One for each row; the groups above make two of it."""
        return Results.ONE

    @property
    def replay(self) -> Replay:
        """The row that is replaced is the one before. With HAVING, a lane is a source partition and a part of keys."""
        return Replay(Depends.HISTORY, Lanes.OWN)

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
        """False: it has a state."""
        return False

    @property
    def upgradable(self) -> bool:
        """False."""
        return False

    def upgrade(self, new: Self) -> str | None:
        """Never, if anything changes."""
        return None if self.key == new.key else f"{self.title} would change, and it remembers rows"

    def explain(self) -> tuple[str, str]:
        """The primary key."""
        return "Changes of table", f"by {', '.join(map(expression_text, self.key))}"
