"""Tables joined by their primary keys."""

from __future__ import annotations

from dataclasses import dataclass

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import JoinKind
from ksqlpy.plan.operators.contract import Depends, Lanes, Passive, Replay, Results, Stateful
from ksqlpy.plan.operators.joins import WindowedJoin, WithTables
from ksqlpy.plan.operators.scan import Scan
from ksqlpy.plan.text import expression_text

__all__ = ["TableTableJoin"]


@dataclass(frozen=True)
class TableTableJoin(WindowedJoin, WithTables, Stateful):
    """Tables joined from left to right: ``kinds`` has how each but the first is joined.

    All share one key, ``key``, so that a chain of joins is one step: each record updates its table's row of that key,
    and the new result of the key comes out, if there is one or there was one.
    """

    tables: tuple[Scan, ...]
    kinds: tuple[JoinKind, ...]
    key: t.ColumnRef

    title = "the step table-table join"
    below = ("tables",)
    lookups = ()
    stages = 1
    window = None
    results = Results.ONE
    # Each result says what its key had seen of every table. In other groups rows of several tables meet.
    replay = Replay(Depends.HISTORY, Lanes.MIXED)
    passive = Passive.NEVER
    upgradable = False

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        return self.identity

    @property
    def identity(self) -> tuple[t.Expr, ...]:
        """The key that all tables share, with its window."""
        return (self.key, *self.bounds)

    def explain(self) -> tuple[str, str]:
        """How the tables are joined, the key, and whether it has windows."""
        shown = [expression_text(k) for k in self.table_keys]
        joined = "".join(f" {kind} {s}" for kind, s in zip(self.kinds, shown[1:], strict=True))
        windows = " [of equal windows]" if self.windowed else ""
        return "Join tables", f"{shown[0]}{joined} AS {self.key.name}{windows}"
