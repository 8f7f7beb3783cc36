"""Two streams joined in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import JoinKind
from ksqlpy.plan.operators.contract import Operator, TaskStep
from ksqlpy.plan.text import expression_text

__all__ = ["StreamStreamJoin"]


@dataclass(frozen=True)
class StreamStreamJoin(TaskStep):
    """Rows of two streams of equal keys, and near in time: the right one up to ``before`` ms earlier than the left one
    and up to ``after`` ms later; both bounds are included.

    ``left_key`` and ``right_key`` are the sides of ON, over the rows of that side; ``key`` is the column of their value
    in the rows that come out. The time of these is the later one of both. Where ``left`` or ``right`` scans a stream,
    rows also have that stream's ROWTIME, ROWPARTITION and ROWOFFSET under the stream's alias, as ``L.ROWTIME``, if the
    plan uses them. If the streams are :attr:`windowed`, rows are of equal windows, too, and keep them.

    A row without a partner comes out with nulls on the other side, as ``kind`` says: with ``grace`` (ms) once stream
    time is beyond its last possible partner's time + grace; without (None) at once, even if a partner comes later.
    Rows without a value do not join. Those whose key is null have no partner: they come out at once where ``kind`` says
    so, and do not move stream time.
    """

    left: Operator
    right: Operator
    kind: JoinKind
    left_key: t.Expr
    right_key: t.Expr
    key: t.ColumnRef
    before: int
    after: int
    grace: int | None

    @property
    def title(self) -> str:
        """As messages name it."""
        return "the step stream-stream join"

    @property
    def windowed(self) -> bool:
        """Whether the keys of both streams have windows."""
        return self.right.relations[0].source.window is not None

    @property
    def kept_key(self) -> tuple[str, ...]:
        """The second name of a key of the system, as ahead of further joins: rows have it if the plan uses it."""
        return (self.key.name.removeprefix("__"),) if self.key.name.startswith("__") else ()

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """The left one, then the right one."""
        return (self.left, self.right)

    def with_inputs(self, inputs: Sequence[Operator]) -> Self:
        """The same join of other inputs."""
        return replace(self, left=inputs[0], right=inputs[1])

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        """Both sides of ON, the key of the result, and where it has windows their bounds."""
        bounds = (t.system("WINDOWSTART"), t.system("WINDOWEND")) if self.windowed else ()
        return (self.left_key, self.right_key, self.key, *bounds)

    @property
    def keys(self) -> tuple[t.Expr, ...]:
        """The value of ON."""
        return (self.key,)

    @property
    def identity(self) -> tuple[t.Expr, ...] | None:
        """None: its rows are those of a stream."""
        return None

    @property
    def equal(self) -> tuple[t.Expr, ...]:
        """The key: both sides are equal to it, or null where a row had no partner."""
        return (self.key, self.left_key, self.right_key)

    def upgrade(self, new: Self) -> str | None:
        """Never, if anything changes."""
        before, after = (replace(n, left=self.left, right=self.right) for n in (self, new))
        return None if before == after else f"{self.title} would change, and it remembers rows"

    def explain(self) -> tuple[str, str]:
        """Both sides of ON, the key, how far apart rows may be."""
        joined = f"{expression_text(self.left_key)} = {expression_text(self.right_key)} AS {self.key.name}"
        near = f"{self.before} ms before to {self.after} ms after"
        grace = "no grace" if self.grace is None else f"grace {self.grace} ms"
        windows = ", of equal windows" if self.windowed else ""
        return f"{self.kind.capitalize()} join of streams", f"{joined} [{near}, {grace}{windows}]"
