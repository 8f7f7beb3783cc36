"""What only the translation to Spark can tell of a plan, told before anything is done."""

from __future__ import annotations

from ksqlpy.plan import Plan
from ksqlpy.spark.expressions import spark_text

__all__ = ["check_plan"]


def check_plan(plan: Plan) -> None:
    """Translates every expression; raises AnalysisProblem where a function refuses its constants."""
    for expression in plan.expressions:
        spark_text(expression)
