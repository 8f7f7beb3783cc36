"""Two streams joined in time."""

from __future__ import annotations

from dataclasses import dataclass

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import JoinKind
from ksqlpy.plan.operators.contract import BY_PARTITION, Operator, TaskStep
from ksqlpy.plan.operators.joins import WindowedJoin
from ksqlpy.plan.text import expression_text

__all__ = ["StreamStreamJoin"]


@dataclass(frozen=True)
class StreamStreamJoin(WindowedJoin, TaskStep):
    """Rows of two streams of equal keys, and near in time: the right one up to ``before`` ms earlier than the left one
    and up to ``after`` ms later; both bounds are included.

    ``left_key`` and ``right_key`` are the sides of ON, over the rows of that side; ``key`` is the column of their value
    in the rows that come out. The time of these is the later one of both. Where ``left`` or ``right`` scans a stream,
    rows also have that stream's ROWTIME, ROWPARTITION and ROWOFFSET under the stream's alias, as ``L.ROWTIME``, if the
    plan uses them.

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

    title = "the step stream-stream join"
    below = ("left", "right")
    needed = frozenset[str]()
    window = None
    identity = None
    replay = BY_PARTITION

    @property
    def kept_key(self) -> tuple[str, ...]:
        """The second name of a key of the system, as ahead of further joins: rows have it if the plan uses it."""
        return (self.key.name.removeprefix("__"),) if self.key.name.startswith("__") else ()

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        """Both sides of ON, the key of the result, and where it has windows their bounds."""
        return (self.left_key, self.right_key, self.key, *self.bounds)

    @property
    def equal(self) -> tuple[t.Expr, ...]:
        """The key: both sides are equal to it, or null where a row had no partner."""
        return (self.key, self.left_key, self.right_key)

    def explain(self) -> tuple[str, str]:
        """Both sides of ON, the key, how far apart rows may be."""
        joined = f"{expression_text(self.left_key)} = {expression_text(self.right_key)} AS {self.key.name}"
        near = f"{self.before} ms before to {self.after} ms after"
        grace = "no grace" if self.grace is None else f"grace {self.grace} ms"
        windows = ", of equal windows" if self.windowed else ""
        return f"{self.kind.capitalize()} join of streams", f"{joined} [{near}, {grace}{windows}]"
