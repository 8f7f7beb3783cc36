"""How each operator of a logical plan is built: a file for each, of the name of its file in ``ksqlpy/plan/operators/``.

A row-by-row aggregate is Spark's own streaming aggregate: in real-time mode (and with the streamline aggregator in
micro-batches) it merges each row and emits it at once: one output row an input row, in order, per key.
"""

from __future__ import annotations

from typing import Any

from ksqlpy.plan import operators as plan
from ksqlpy.plan.operators import Operator
from ksqlpy.spark.operators import (
    aggregate,
    filter,
    flat_map,
    foreign_key_join,
    lag_lead,
    project,
    scan,
    session_aggregate,
    stream_stream_join,
    stream_table_join,
    suppress,
    table_changes,
    table_filter,
    table_table_join,
    top_n,
    union,
)
from ksqlpy.spark.operators.context import Builder, Context, Distribution

__all__ = ["Builder", "Context", "Distribution", "builder_of", "register"]

_BUILDERS: dict[type[Operator], Any] = {
    plan.Aggregate: aggregate.build,
    plan.Filter: filter.build,
    plan.FlatMap: flat_map.build,
    plan.ForeignKeyJoin: foreign_key_join.build,
    plan.LagLead: lag_lead.build,
    plan.Project: project.build,
    plan.Scan: scan.build,
    plan.SessionAggregate: session_aggregate.build,
    plan.StreamStreamJoin: stream_stream_join.build,
    plan.StreamTableJoin: stream_table_join.build,
    plan.Suppress: suppress.build,
    plan.TableChanges: table_changes.build,
    plan.TableFilter: table_filter.build,
    plan.TableTableJoin: table_table_join.build,
    plan.TopN: top_n.build,
    plan.Union: union.build,
}


def register(operator: type[Operator], build: Builder) -> None:
    """Says how an operator is built that is not one of ours."""
    _BUILDERS[operator] = build


def builder_of(operator: type[Operator]) -> Builder:
    """How an operator is built; raises TypeError for one that nobody builds."""
    found: Builder | None = _BUILDERS.get(operator)
    if found is None:
        raise TypeError(f"no builder for the operator {operator.__name__}: see ksqlpy/spark/operators")
    return found
