"""What joins have in common."""

from __future__ import annotations

from ksqlpy.analysis import typed as t
from ksqlpy.plan.operators.contract import Operator
from ksqlpy.plan.operators.scan import Scan

__all__ = ["WindowedJoin", "WithTables"]


class WithTables(Operator, family=True):
    """Joins with tables by their primary keys, which equal the key of the join, or are null where there is no row.

    The tables are what the last field of ``below`` holds.
    """

    @property
    def table_keys(self) -> tuple[t.ColumnRef, ...]:
        """The primary key of each table."""
        tables: tuple[Scan, ...] = self.held(self.below[-1])
        return tuple(s.relation.ref(s.relation.source.keys[0]) for s in tables)

    @property
    def needed(self) -> frozenset[str]:
        """The keys of the tables."""
        return frozenset(k.name for k in self.table_keys)

    @property
    def equal(self) -> tuple[t.Expr, ...]:
        return (*self.keys, *self.table_keys)


class WindowedJoin(Operator, family=True):
    """Joins of sources whose keys may have windows. Then rows are of equal windows, too, and keep them."""

    key: t.ColumnRef

    @property
    def windowed(self) -> bool:
        """Whether the keys of all inputs have windows."""
        return self.inputs[-1].relations[0].source.window is not None

    @property
    def bounds(self) -> tuple[t.ColumnRef, ...]:
        """The bounds of the window, if there is one."""
        return (t.system("WINDOWSTART"), t.system("WINDOWEND")) if self.windowed else ()

    @property
    def keys(self) -> tuple[t.Expr, ...]:
        return (self.key,)
