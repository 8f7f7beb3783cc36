"""From a typed query to its logical plan."""

from __future__ import annotations

from typing import Literal

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.query import TypedQuery
from ksqlpy.plan.nodes import (
    Aggregate,
    Filter,
    FlatMap,
    Node,
    Plan,
    Project,
    Scan,
    TableChanges,
    TableFilter,
    TableJoin,
    TablesJoin,
)

__all__ = ["PLAN_VERSION", "build_plan"]

PLAN_VERSION = 3
"""Raised when an unchanged statement gets a plan whose state an older checkpoint does not fit."""


def build_plan(query: TypedQuery) -> Plan:
    """The plan: scan, joins, WHERE, table functions, GROUP BY with HAVING, projection."""
    first = query.relations[0]
    node: Node = Scan(first)
    keys: tuple[t.Expr, ...] = tuple(first.ref(c) for c in first.source.keys)
    if query.join_key is not None:
        keys = (query.join_key,)
        node = TablesJoin(tuple(map(Scan, query.relations)), tuple(j.kind for j in query.joins), query.join_key)
    else:
        for join in query.joins:
            kind: Literal["INNER", "LEFT"] = "LEFT" if join.kind == "LEFT" else "INNER"
            node = TableJoin(node, Scan(join.relation), kind, join.left)
    if query.where is not None:
        if first.source.kind == "TABLE":
            identity = keys
            if first.source.window is not None:
                identity += tuple(t.ColumnRef(t.SYSTEM[n][1], t.SYSTEM[n][0]) for n in ("WINDOWSTART", "WINDOWEND"))
            node = TableFilter(node, query.where, identity)
        else:
            node = Filter(node, query.where)
    if query.tables:
        node = FlatMap(node, query.tables)
    if query.grouping is not None:
        grouping = query.grouping
        if first.source.kind == "TABLE":
            node = TableChanges(node, keys)
        node = Aggregate(node, grouping.keys, grouping.aggregates, grouping.window)
        if grouping.having is not None:
            keys = tuple(t.ColumnRef(k.type, f"__k{i}") for i, k in enumerate(grouping.keys))
            if grouping.window is not None:
                keys += (t.ColumnRef(t.SYSTEM["WINDOWSTART"][1], "__ws"),)
            node = TableFilter(node, grouping.having, keys)
    return Plan(Project(node, query.outputs), query.kind)
