"""A stream joined with tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, cast

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Window
from ksqlpy.plan.operators.contract import Depends, Lanes, Operator, Replay, Results
from ksqlpy.plan.operators.scan import Scan
from ksqlpy.plan.text import expression_text

__all__ = ["StreamTableJoin"]


@dataclass(frozen=True)
class StreamTableJoin(Operator):
    """Each row of ``input`` sees the tables as read so far; table rows only update them.

    All are joined by the same value of the row, ``left``, so that a chain of joins is one step; ``kinds`` has how each
    is joined.
    """

    input: Operator
    tables: tuple[Scan, ...]
    kinds: tuple[Literal["INNER", "LEFT"], ...]
    left: t.Expr

    @property
    def title(self) -> str:
        """As messages name it."""
        return "the step stream-table join"

    @property
    def table_keys(self) -> tuple[t.ColumnRef, ...]:
        """The primary key of each table."""
        return tuple(s.relation.ref(s.relation.source.keys[0]) for s in self.tables)

    @property
    def found_keys(self) -> list[t.ColumnRef]:
        """The keys of tables that have a row wherever there is a result: they equal ``left``."""
        return [k for k, kind in zip(self.table_keys, self.kinds, strict=True) if kind == "INNER"]

    @property
    def keeps_null_keys(self) -> bool:
        """Whether a row whose value of ``left`` is null comes out, without a row of any table."""
        return "INNER" not in self.kinds

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """The stream, then the tables."""
        return (self.input, *self.tables)

    @property
    def lookups(self) -> tuple[Operator, ...]:
        """The tables."""
        return self.tables

    def with_inputs(self, inputs: Sequence[Operator]) -> Self:
        """The same join of other inputs."""
        return replace(self, input=inputs[0], tables=tuple(cast(Sequence[Scan], inputs[1:])))

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        """The value that is looked up."""
        return (self.left,)

    @property
    def needed(self) -> frozenset[str]:
        """The keys of the tables."""
        return frozenset(k.name for k in self.table_keys)

    @property
    def keys(self) -> tuple[t.Expr, ...]:
        """The value that is looked up."""
        return (self.left,)

    @property
    def stages(self) -> int:
        """One for all tables."""
        return 1

    @property
    def stateful(self) -> bool:
        """The rows of the tables."""
        return True

    @property
    def window(self) -> Window | None:
        """None."""
        return None

    @property
    def identity(self) -> tuple[t.Expr, ...] | None:
        """None: its rows are those of a stream."""
        return None

    @property
    def results(self) -> Results:
        """At most one: keys of tables are unique."""
        return Results.ONE

    @property
    def replay(self) -> Replay:
        """A row whose result is there comes behind the table record that it had seen."""
        return Replay(Depends.TABLES, Lanes.MIXED)

    @property
    def equal(self) -> tuple[t.Expr, ...]:
        """What is joined is equal, or null where a table has no row."""
        return (self.left, *self.table_keys)

    def keeps_key(self, keys: Sequence[t.Expr]) -> bool:
        """False: its rows have the value that is joined as their key."""
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
        same = (self.kinds, self.left) == (new.kinds, new.left)
        return None if same else f"{self.title} would change, and it remembers rows"

    def explain(self) -> tuple[str, str]:
        """The value that is looked up, and each table's key."""
        equal = [f"= {expression_text(k)}" for k in self.table_keys]
        looked_up = expression_text(self.left)
        if len(self.kinds) == 1:
            return f"{self.kinds[0].capitalize()} join", f"{looked_up} {equal[0]}"
        each = "".join(f" {kind} {key}" for kind, key in zip(self.kinds, equal, strict=True))
        return "Join with tables", f"{looked_up}{each}"
