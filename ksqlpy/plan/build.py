"""From a typed query to its logical plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Output, Relation, TypedQuery
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
    Union,
)
from ksqlpy.types import BOOLEAN

__all__ = ["PLAN_VERSION", "STATELESS_VERSION", "build_plan"]

PLAN_VERSION = 7
"""Raised when an unchanged statement gets a plan whose state an older checkpoint does not fit."""

STATELESS_VERSION = 6
"""The same for plans without state, whose checkpoints hold nothing but offsets."""


def build_plan(query: TypedQuery) -> Plan:
    """The plan: scan, joins, WHERE, table functions, GROUP BY with HAVING, projection; the same for inner queries."""
    plan = Plan(Project(_rows(query), query.outputs), query.kind, query.partition_by is not None)
    # What a row saw of each of several tables gives rows no order in which they could be retraced in one step.
    return plan if plan.retraced else replace(plan, root=_merged_below(plan.root))


def _merged(node: Node) -> Node:
    """With joins that follow each other and ask for the same value made one step."""
    match node:
        case Scan() | TablesJoin():
            return node
        case Union(branches):
            return replace(node, branches=tuple(map(_merged_below, branches)))
        case TableJoin(input=TableJoin() as first, tables=tables, kinds=kinds, left=left):
            below = _merged(first)
            if isinstance(below, TableJoin) and (left == below.left or left in _found_keys(below)):
                return replace(below, tables=(*below.tables, *tables), kinds=(*below.kinds, *kinds))
            return replace(node, input=below)
    return replace(node, input=_merged(node.input))


def _merged_below(node: Project) -> Project:
    return replace(node, input=_merged(node.input))


def _found_keys(join: TableJoin) -> list[t.ColumnRef]:
    """The keys of tables that have a row wherever the join has a result: they equal what the tables were asked for."""
    found = [s.relation for s, kind in zip(join.tables, join.kinds, strict=True) if kind == "INNER"]
    return [r.ref(r.source.keys[0]) for r in found]


def _rows(query: TypedQuery) -> Node:
    """The rows of a query ahead of its projection."""
    first = query.relations[0]
    keys: tuple[t.Expr, ...] = tuple(first.ref(c) for c in first.source.keys)
    if query.join_key is not None:
        keys = (query.join_key,)
        node: Node = TablesJoin(tuple(map(Scan, query.relations)), tuple(j.kind for j in query.joins), query.join_key)
    else:
        node = _relation(first)
        for join in query.joins:
            kind: Literal["INNER", "LEFT"] = "LEFT" if join.kind == "LEFT" else "INNER"
            node = TableJoin(node, (Scan(join.relation),), (kind,), join.left)
    if query.where is not None:
        node = _filtered(node, query.where) if first.source.kind == "TABLE" else Filter(node, query.where)
    if query.tables:
        node = FlatMap(node, query.tables)
    if query.grouping is not None:
        grouping = query.grouping
        if first.source.kind == "TABLE":
            node = TableChanges(node, keys)
        node = Aggregate(node, grouping.keys, grouping.aggregates, grouping.window)
        if grouping.having is not None:
            node = _filtered(node, grouping.having)
    return node


def _relation(relation: Relation) -> Node:
    """A scan, or what an inner query gives, under the names by which the outer one speaks of it."""
    if relation.view is None:
        return Scan(relation)
    branches = tuple(
        Project(_rows(q), tuple(Output(relation.internal(o.name), o.expr) for o in q.outputs))
        for q in relation.view.queries
    )
    return branches[0] if len(branches) == 1 else Union(branches)


def _filtered(node: Node, predicate: t.Expr) -> Node:
    """A filter on a table, as deep as possible: where the key is, and one in all, since each of them has a state."""
    match node:
        case Project(below, outputs):
            named = {o.name: o.expr for o in outputs}
            inside = t.rewrite(predicate, lambda e: named.get(e.name) if isinstance(e, t.ColumnRef) else None)
            return Project(_filtered(below, inside), outputs)
        case TableFilter(below, before, keys):
            return TableFilter(below, t.Logical(BOOLEAN, "AND", before, predicate), keys)
        case Aggregate(_, grouped, _, window):
            identity: tuple[t.Expr, ...] = tuple(t.ColumnRef(k.type, f"__k{i}") for i, k in enumerate(grouped))
            windowed: tuple[str, ...] = ("WINDOWSTART",) if window is not None else ()
        case Scan(relation):
            identity = tuple(relation.ref(c) for c in relation.source.keys)
            windowed = ("WINDOWSTART", "WINDOWEND") if relation.source.window is not None else ()
        case TablesJoin():
            identity, windowed = (node.key,), ()
        case _:
            raise TypeError(f"not a table: {node!r}")
    identity += tuple(t.ColumnRef(t.SYSTEM[n][1], t.SYSTEM[n][0]) for n in windowed)
    return TableFilter(node, predicate, identity)
