"""From a typed query to its logical plan."""

from __future__ import annotations

from dataclasses import replace

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.joins import carried, named_keys
from ksqlpy.analysis.result import Output, Relation, TypedQuery
from ksqlpy.plan.operators import (
    Aggregate,
    Filter,
    FlatMap,
    ForeignKeyJoin,
    LagLead,
    Operator,
    Project,
    Scan,
    SessionAggregate,
    StreamStreamJoin,
    StreamTableJoin,
    Suppress,
    TableChanges,
    TableFilter,
    TableTableJoin,
    TopN,
    Union,
)
from ksqlpy.plan.plan import Plan
from ksqlpy.types import BOOLEAN

__all__ = ["PLAN_VERSION", "STATELESS_VERSION", "build_plan"]

PLAN_VERSION = 7
"""Raised when an unchanged statement gets a plan whose state an older checkpoint does not fit."""

STATELESS_VERSION = 6
"""The same for plans without state, whose checkpoints hold nothing but offsets."""


def build_plan(query: TypedQuery) -> Plan:
    """The plan: scan, joins, WHERE, table functions, OVER, GROUP BY with HAVING, projection; so for inner queries."""
    root = Project(_rows(query), query.outputs)
    plan = Plan(root, query.kind, query.partition_by is not None, query.strict_time)
    # What a row saw of each of several tables gives rows no order in which they could be retraced in one step.
    plan = plan if plan.retraced else plan.rebuilt(_merged)
    return replace(plan, by_bits=plan.compares_doubles)


def _merged(node: Operator) -> Operator:
    """A join that follows another and asks for the same value made one step with it."""
    if not (isinstance(node, StreamTableJoin) and isinstance(below := node.input, StreamTableJoin)):
        return node
    if {s.relation.source.topic for s in node.tables} & {s.relation.source.topic for s in below.tables}:
        return node  # each reads the records of the table itself
    if node.left != below.left and node.left not in below.found_keys:
        return node
    return replace(below, tables=(*below.tables, *node.tables), kinds=(*below.kinds, *node.kinds))


def _rows(query: TypedQuery) -> Operator:
    """The rows of a query ahead of its projection."""
    first = query.relations[0]
    node = _joined(query)
    if query.where is not None:
        node = _filtered(node, query.where) if first.source.kind == "TABLE" else Filter(node, query.where)
    if query.tables:
        node = FlatMap(node, query.tables)
    if query.over:
        node = LagLead(node, query.over)
    if query.ranking is not None:
        ranking = query.ranking
        if ranking.limit is None:
            raise TypeError(f"a ranking without a limit: {query!r}")
        node = TopN(node, ranking.partition, ranking.order, ranking.limit)
    if query.grouping is not None:
        grouping = query.grouping
        if first.source.kind == "TABLE":
            node = TableChanges(node, node.identity or tuple(first.ref(c) for c in first.source.keys))
        if grouping.window is not None and grouping.window.kind == "SESSION":
            node = SessionAggregate(node, grouping.keys, grouping.aggregates, grouping.window)
        else:
            node = Aggregate(node, grouping.keys, grouping.aggregates, grouping.window)
        if grouping.final and grouping.window is not None:
            node = Suppress(node, grouping.window, grouping.idle_ms, grouping.forgetful)
        if grouping.having is not None:
            node = _filtered(node, grouping.having)
    return node


def _joined(query: TypedQuery) -> Operator:
    """The first source, and what is joined with it from left to right."""
    first, joins = query.relations[0], query.joins
    if joins and first.source.kind == "TABLE" and query.join_key is not None:
        return TableTableJoin(tuple(map(Scan, query.relations)), tuple(j.kind for j in joins), query.join_key)
    node = _relation(first)
    for i, (join, key) in enumerate(zip(joins, carried(joins), strict=False)):
        right, kind = _relation(join.relation), join.kind
        # A column that names the key may be missing where a stream had no row; the key is not.
        left = key if key is not None and join.left in named_keys(joins[:i]) else join.left
        if join.within is not None and join.key is not None:
            before, after = join.within
            node = StreamStreamJoin(node, right, kind, left, join.right, join.key, before, after, join.grace)
        elif isinstance(right, Scan) and (kind == "INNER" or kind == "LEFT"):
            if join.foreign:
                node = ForeignKeyJoin(node, right, kind, left)
            else:
                node = StreamTableJoin(node, (right,), (kind,), left)
        else:
            raise TypeError(f"nothing joins {join!r}")
    return node


def _relation(relation: Relation) -> Operator:
    """A scan, or what an inner query gives, under the names by which the outer one speaks of it."""
    if relation.view is None:
        return Scan(relation)
    branches = tuple(
        Project(_rows(q), tuple(Output(relation.internal(o.name), o.expr) for o in q.outputs))
        for q in relation.view.queries
    )
    return branches[0] if len(branches) == 1 else Union(branches)


def _filtered(node: Operator, predicate: t.Expr) -> Operator:
    """A filter on a table, as deep as possible: where the key is, and one in all, since each of them has a state."""
    match node:
        case Project(below, outputs):
            return Project(_filtered(below, t.rewrite(predicate, node.column)), outputs)
        case TableFilter(below, before, key):
            return TableFilter(below, t.Logical(BOOLEAN, "AND", before, predicate), key)
        case Suppress():
            return Filter(node, predicate)  # a final result comes once, there is none to be taken back
        case Filter(Suppress() as below, before):
            return Filter(below, t.Logical(BOOLEAN, "AND", before, predicate))
    if node.identity is None:
        raise TypeError(f"not a table: {node!r}")
    return TableFilter(node, predicate, node.identity)
