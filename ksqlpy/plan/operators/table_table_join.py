"""Tables joined by their primary keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, cast

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import JoinKind, Window
from ksqlpy.plan.operators.contract import Depends, Lanes, Operator, Replay, Results
from ksqlpy.plan.operators.scan import Scan
from ksqlpy.plan.text import expression_text

__all__ = ["TableTableJoin"]


@dataclass(frozen=True)
class TableTableJoin(Operator):
    """Tables joined from left to right: ``kinds`` has how each but the first is joined.

    All share one key, ``key``, so that a chain of joins is one step: each record updates its table's row of that key,
    and the new result of the key comes out, if there is one or there was one. If the tables are :attr:`windowed`, rows
    are of equal windows, too, and keep them.
    """

    tables: tuple[Scan, ...]
    kinds: tuple[JoinKind, ...]
    key: t.ColumnRef

    @property
    def title(self) -> str:
        """As messages name it."""
        return "the step table-table join"

    @property
    def table_keys(self) -> tuple[t.ColumnRef, ...]:
        """The primary key of each table."""
        return tuple(s.relation.ref(s.relation.source.keys[0]) for s in self.tables)

    @property
    def windowed(self) -> bool:
        """Whether the keys of the tables have windows."""
        return self.tables[0].relation.source.window is not None

    @property
    def _bounds(self) -> tuple[t.ColumnRef, ...]:
        return (t.system("WINDOWSTART"), t.system("WINDOWEND")) if self.windowed else ()

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """The tables."""
        return self.tables

    @property
    def lookups(self) -> tuple[Operator, ...]:
        """None: a record of any table may bring a result."""
        return ()

    def with_inputs(self, inputs: Sequence[Operator]) -> Self:
        """The same join of other tables."""
        return replace(self, tables=tuple(cast(Sequence[Scan], inputs)))

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        """The key of the result, and where it has windows their bounds."""
        return (self.key, *self._bounds)

    @property
    def needed(self) -> frozenset[str]:
        """The keys of the tables."""
        return frozenset(k.name for k in self.table_keys)

    @property
    def keys(self) -> tuple[t.Expr, ...]:
        """The key that all tables share."""
        return (self.key,)

    @property
    def stages(self) -> int:
        """One for all tables."""
        return 1

    @property
    def stateful(self) -> bool:
        """The last row of each table."""
        return True

    @property
    def window(self) -> Window | None:
        """None."""
        return None

    @property
    def identity(self) -> tuple[t.Expr, ...] | None:
        """The key that all tables share, with its window."""
        return (self.key, *self._bounds)

    @property
    def results(self) -> Results:
        """One for each record."""
        return Results.ONE

    @property
    def replay(self) -> Replay:
        """Each result says what its key had seen of every table. In other groups rows of several tables meet."""
        return Replay(Depends.HISTORY, Lanes.MIXED)

    @property
    def equal(self) -> tuple[t.Expr, ...]:
        """The keys: they are equal, or null where a table has no row."""
        return (self.key, *self.table_keys)

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
        same = (self.kinds, self.key) == (new.kinds, new.key)
        return None if same else f"{self.title} would change, and it remembers rows"

    def explain(self) -> tuple[str, str]:
        """How the tables are joined, the key, and whether it has windows."""
        shown = [expression_text(k) for k in self.table_keys]
        joined = "".join(f" {kind} {s}" for kind, s in zip(self.kinds, shown[1:], strict=True))
        windows = " [of equal windows]" if self.windowed else ""
        return "Join tables", f"{shown[0]}{joined} AS {self.key.name}{windows}"
