"""EMIT FINAL: the last result of each window."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Window
from ksqlpy.plan.operators.contract import BY_PARTITION, Operator, Replay, TaskStep

__all__ = ["Suppress"]


@dataclass(frozen=True)
class Suppress(TaskStep):
    """Keeps the last row of each group and window, and lets it out when the window is closed, once.

    It lies directly above the aggregate whose window ``windowing`` is. A window is closed where stream time reaches its
    end + grace (a session: where it is beyond its end + gap + grace); windows leave in the order of their ends. A
    tombstone takes the row away, so that a session that became longer leaves no result of its old bounds.

    ``idle_ms``: also where no record came for so many milliseconds of wall-clock time, all windows are closed whose end
    lies that far behind the clock; looked at with each checkpoint. None: only records close windows. ``forgetful``: a
    window is lost, as by ksqlDB, where the record that closes it lies in a window that begins later than its end +
    grace: Kafka Streams' store has dropped it by then. Of sessions that store drops larger pieces, and later.
    """

    input: Operator
    windowing: Window
    idle_ms: int | None = None
    forgetful: bool = False

    title = "EMIT FINAL"
    below = ("input",)
    needed = frozenset[str]()
    stages = 0  # it works on the rows of the aggregate in the same tasks
    window = None
    equal = ()

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        """What tells its rows apart."""
        return self.identity

    @property
    def keys(self) -> tuple[t.Expr, ...]:
        """The group: all windows of a group lie together, as in the aggregate."""
        return tuple(k for k in self.identity if not isinstance(k, t.ColumnRef) or k.name not in t.BOUNDS)

    @property
    def identity(self) -> tuple[t.Expr, ...]:
        """As its input: the group and the window."""
        if self.input.identity is None:
            raise TypeError(f"not a table: {self.input!r}")
        return self.input.identity

    @property
    def replay(self) -> Replay:
        """A window is closed by the partition of its last row, so it matters whether a group has one partition."""
        [rows] = self.input.inputs
        return replace(BY_PARTITION, scattered=not rows.keeps_key(self.input.keys))

    def explain(self) -> tuple[str, str]:
        w = self.windowing
        end = f"end + {w.size + w.grace} ms" if w.kind == "SESSION" else f"end + {w.grace} ms"
        idle = "" if self.idle_ms is None else f", or {self.idle_ms} ms without a record"
        return "Final results", f"of windows, at {end}{idle}"
