"""What only the translation to Spark can tell of a plan, told before anything is done."""

from __future__ import annotations

from ksqlpy.analysis import typed as t
from ksqlpy.plan import Plan
from ksqlpy.plan.nodes import (
    Aggregate,
    Filter,
    FlatMap,
    Project,
    Scan,
    TableChanges,
    TableFilter,
    TableJoin,
    TablesJoin,
    Union,
    nodes_of,
)
from ksqlpy.spark.expressions import spark_text

__all__ = ["check_plan", "expressions_of"]


def expressions_of(plan: Plan) -> list[t.Expr]:
    """All expressions of the plan; of aggregates and table functions the arguments."""
    found: list[t.Expr] = []
    for node in nodes_of(plan.root):
        match node:
            case Filter(_, predicate):
                found.append(predicate)
            case TableFilter(_, predicate, keys):
                found += [predicate, *keys]
            case TableJoin(_, _, _, left):
                found.append(left)
            case FlatMap(_, calls):
                found += [x for c in calls for x in c.arguments]
            case TableChanges(_, keys):
                found += keys
            case Aggregate(_, keys, aggregates, _):
                found += [*keys, *(x for a in aggregates for x in a.arguments)]
            case Project(_, outputs):
                found += [o.expr for o in outputs]
            case TablesJoin(_, _, key):
                found.append(key)
            case Scan() | Union():
                pass
    return found


def check_plan(plan: Plan) -> None:
    """Translates every expression; raises AnalysisProblem where a function refuses its constants."""
    for expression in expressions_of(plan):
        spark_text(expression)
