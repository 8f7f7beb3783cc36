"""A table joined with another one that its rows point to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ksqlpy.analysis import typed as t
from ksqlpy.plan.operators.contract import BY_PARTITION, Operator, TaskStep
from ksqlpy.plan.operators.joins import WithTables
from ksqlpy.plan.operators.scan import Scan
from ksqlpy.plan.text import expression_text

__all__ = ["ForeignKeyJoin"]


@dataclass(frozen=True)
class ForeignKeyJoin(WithTables, TaskStep):
    """Each row of ``left`` with the row of ``right`` whose primary key is the value of ``left_key``.

    The result is a table of the primary key of ``left``. A change of a left row gives its result anew, a change of a
    right row that of each left row that points to it; a tombstone comes out where there was a result and is none.
    ``left`` may be such a join itself; ``left_key`` may be its primary key, where a third table is joined by that.
    """

    left: Operator
    right: Scan
    kind: Literal["INNER", "LEFT"]
    left_key: t.Expr

    title = "the step foreign-key join"
    below = ("left", "right")
    stages = 3  # left rows by source partition, rows of both tables by the foreign key, results by the left row
    window = None
    replay = BY_PARTITION

    @property
    def right_key(self) -> t.ColumnRef:
        """The primary key of the right table."""
        return self.table_keys[0]

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        """Those that bring rows together."""
        return self.keys

    @property
    def keys(self) -> tuple[t.Expr, ...]:
        """The foreign key, by which rows of both tables meet, and the left primary key, by which their results do."""
        return (self.left_key, *self.identity)

    @property
    def identity(self) -> tuple[t.Expr, ...]:
        if self.left.identity is None:
            raise TypeError(f"not a table: {self.left!r}")
        return self.left.identity

    def explain(self) -> tuple[str, str]:
        """The foreign key, and the primary key that it points to."""
        key = ", ".join(map(expression_text, self.identity))
        return (
            f"{self.kind.capitalize()} join by foreign key",
            f"{expression_text(self.left_key)} = {expression_text(self.right_key)}, rows of {key}",
        )
