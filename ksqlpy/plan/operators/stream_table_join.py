"""A stream joined with tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ksqlpy.analysis import typed as t
from ksqlpy.plan.operators.contract import Depends, Lanes, Operator, Passive, Replay, Results, Stateful
from ksqlpy.plan.operators.joins import WithTables
from ksqlpy.plan.operators.scan import Scan
from ksqlpy.plan.text import expression_text

__all__ = ["StreamTableJoin"]


@dataclass(frozen=True)
class StreamTableJoin(WithTables, Stateful):
    """Each row of ``input`` sees the tables as read so far; table rows only update them.

    All are joined by the same value of the row, ``left``, so that a chain of joins is one step; ``kinds`` has how each
    is joined.
    """

    input: Operator
    tables: tuple[Scan, ...]
    kinds: tuple[Literal["INNER", "LEFT"], ...]
    left: t.Expr

    title = "the step stream-table join"
    below = ("input", "tables")
    stages = 1
    window = None
    identity = None
    results = Results.ONE  # keys of tables are unique
    replay = Replay(Depends.TABLES, Lanes.MIXED)  # a row with a result comes behind the table record that it had seen
    passive = Passive.NEVER
    upgradable = False

    @property
    def found_keys(self) -> list[t.ColumnRef]:
        """The keys of tables that have a row wherever there is a result: they equal ``left``."""
        return [k for k, kind in zip(self.table_keys, self.kinds, strict=True) if kind == "INNER"]

    @property
    def keeps_null_keys(self) -> bool:
        """Whether a row whose value of ``left`` is null comes out, without a row of any table."""
        return "INNER" not in self.kinds

    @property
    def lookups(self) -> tuple[Operator, ...]:
        return self.tables

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        return (self.left,)

    @property
    def keys(self) -> tuple[t.Expr, ...]:
        return (self.left,)

    def explain(self) -> tuple[str, str]:
        """The value that is looked up, and each table's key."""
        equal = [f"= {expression_text(k)}" for k in self.table_keys]
        looked_up = expression_text(self.left)
        if len(self.kinds) == 1:
            return f"{self.kinds[0].capitalize()} join", f"{looked_up} {equal[0]}"
        each = "".join(f" {kind} {key}" for kind, key in zip(self.kinds, equal, strict=True))
        return "Join with tables", f"{looked_up}{each}"
