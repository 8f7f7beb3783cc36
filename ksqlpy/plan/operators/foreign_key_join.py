"""A table joined with another one that its rows point to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, cast

from ksqlpy.analysis import typed as t
from ksqlpy.plan.operators.contract import Operator, TaskStep
from ksqlpy.plan.operators.scan import Scan
from ksqlpy.plan.text import expression_text

__all__ = ["ForeignKeyJoin"]


@dataclass(frozen=True)
class ForeignKeyJoin(TaskStep):
    """Each row of ``left`` with the row of ``right`` whose primary key is the value of ``left_key``.

    The result is a table of the primary key of ``left``. A change of a left row gives its result anew, a change of a
    right row that of each left row that points to it; a tombstone comes out where there was a result and is none.
    ``left`` may be such a join itself; ``left_key`` may be its primary key, where a third table is joined by that.
    """

    left: Operator
    right: Scan
    kind: Literal["INNER", "LEFT"]
    left_key: t.Expr

    @property
    def title(self) -> str:
        """As messages name it."""
        return "the step foreign-key join"

    @property
    def right_key(self) -> t.ColumnRef:
        """The primary key of the right table."""
        return self.right.relation.ref(self.right.relation.source.keys[0])

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """The left table, then the right one."""
        return (self.left, self.right)

    def with_inputs(self, inputs: Sequence[Operator]) -> Self:
        """The same join of other tables."""
        return replace(self, left=inputs[0], right=cast(Scan, inputs[1]))

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        """The foreign key, and the primary key of the left rows."""
        return (self.left_key, *self.identity)

    @property
    def needed(self) -> frozenset[str]:
        """The primary key of the right table."""
        return frozenset({self.right_key.name})

    @property
    def keys(self) -> tuple[t.Expr, ...]:
        """The foreign key: rows of both tables meet where it lies."""
        return (self.left_key,)

    @property
    def stages(self) -> int:
        """Three: left rows by source partition, rows of both tables by the foreign key, results by the left row."""
        return 3

    @property
    def identity(self) -> tuple[t.Expr, ...]:
        """The primary key of the left rows."""
        if self.left.identity is None:
            raise TypeError(f"not a table: {self.left!r}")
        return self.left.identity

    @property
    def equal(self) -> tuple[t.Expr, ...]:
        """The foreign key and the right table's primary key, or null where that has no row."""
        return (self.left_key, self.right_key)

    def upgrade(self, new: Self) -> str | None:
        """Never, if anything changes."""
        same = (self.kind, self.left_key) == (new.kind, new.left_key)
        return None if same else f"{self.title} would change, and it remembers rows"

    def explain(self) -> tuple[str, str]:
        """The foreign key, and the primary key that it points to."""
        key = ", ".join(map(expression_text, self.identity))
        return (
            f"{self.kind.capitalize()} join by foreign key",
            f"{expression_text(self.left_key)} = {expression_text(self.right_key)}, rows of {key}",
        )
