"""What only the translation to Spark can tell of a plan, told before anything is done."""

from __future__ import annotations

from ksqlpy.errors import AnalysisProblem
from ksqlpy.plan import Plan
from ksqlpy.spark.expressions import size

__all__ = ["check_plan"]

_MOST_TEXT = 2_000_000
"""Characters of all expressions of a plan: Spark needs half a minute for them, and some 500 MB."""


def check_plan(plan: Plan) -> None:
    """Translates every expression; raises AnalysisProblem where a function refuses its constants.

    And ``expression-too-large`` for one expression, or all of them together.
    """
    if sum(map(size, plan.expressions)) > _MOST_TEXT:
        raise AnalysisProblem(
            "expression-too-large",
            "the expressions of the statement are together too large for Spark",
            hint="compute some of them in a stream of their own, and go on from its columns",
        )
