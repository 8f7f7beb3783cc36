"""How a query is run: in real time, row by row, or in micro-batches; and why.

Real time needs that every step of the plan is one of those that Spark runs row by row. So the operators decide, if
``ksqlpy.query.mode`` does not.
"""

from __future__ import annotations

from dataclasses import dataclass

from ksqlpy.config import Config
from ksqlpy.errors import AnalysisProblem
from ksqlpy.plan.plan import Plan

__all__ = ["REAL_TIME", "Mode", "mode_of"]


@dataclass(frozen=True)
class Mode:
    """``batch_ms``: milliseconds from the start of one micro-batch to the next, or None in real time.

    ``reasons``: why it is not in real time; none if it is.
    """

    batch_ms: int | None = None
    reasons: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """As EXPLAIN has it."""
        if self.batch_ms is None:
            return "real-time, every step is native"
        return f"micro-batch, every {self.batch_ms} ms: {'; '.join(self.reasons)}"


REAL_TIME = Mode()


def mode_of(plan: Plan, config: Config) -> Mode:
    """The mode by ``ksqlpy.query.mode``; raises AnalysisProblem ``not-real-time`` where that cannot be."""
    asked = config.get("ksqlpy.query.mode")
    reasons = tuple(dict.fromkeys(n.needs_batches for n in plan.nodes if n.needs_batches is not None))
    if asked == "real-time" and reasons:
        raise AnalysisProblem(
            "not-real-time",
            f"this query cannot run in real time: {'; '.join(reasons)}",
            hint="SET 'ksqlpy.query.mode' to 'auto' or 'micro-batch'",
        )
    if asked == "micro-batch":
        reasons = (*reasons, "ksqlpy.query.mode asks for it")
    return Mode(config.number("ksqlpy.batch.interval"), reasons) if reasons else REAL_TIME
