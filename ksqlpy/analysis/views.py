"""Queries inside queries: what stands in FROM or behind WITH is read like a source, an inline view.

The language of these is this project's own, after standard SQL: a name of WITH is known behind its definition and in
queries inside, wins over a source, and means in its own definition what it meant before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from ksqlpy.analysis.coercion import coerce
from ksqlpy.analysis.result import TypedQuery, View
from ksqlpy.analysis.scope import Text
from ksqlpy.catalog import Catalog, Column, KeySpec, Source
from ksqlpy.formats import NONE
from ksqlpy.sql import nodes
from ksqlpy.types import common_type

__all__ = ["as_query", "check_inner", "read_with", "union_view", "view_of"]

Analyze = Callable[[exp.Expr, Mapping[str, View], str | None], View]


def as_query(node: exp.Expr) -> nodes.Query:
    """The Query itself, or SELECT * FROM the UnionAll with the clauses that are of the whole."""
    if isinstance(node, nodes.Query):
        return node
    inner = node.copy()
    outside = {name: inner.args.pop(name, None) for name in ("with_", "order", "emit", "limit")}
    star = exp.Star()
    star.meta.update(node.meta)
    whole = nodes.Query(expressions=[star], from_=exp.From(this=exp.Subquery(this=inner)))
    for name, value in outside.items():
        whole.set(name, value)
    whole.meta.update(node.meta)
    return whole


def read_with(
    node: nodes.Query, views: Mapping[str, View], catalog: Catalog, text: Text, analyze: Analyze
) -> Mapping[str, View]:
    """The views that a query can name: those around it, and its own of WITH; raises AnalysisProblem."""
    clause = node.args.get("with_")
    known, own = dict(views), set[str]()
    for table in clause.expressions if clause is not None else ():
        alias = table.args["alias"]
        name: str = alias.this.this
        if name in own:
            text.refuse("duplicate-alias", f"WITH defines {name} twice", alias)
        own.add(name)
        if name not in known and name not in catalog.sources:
            at = next((t for t in table.this.find_all(exp.Table) if t.this.this == name), None)
            if at is not None and not _defines(table.this, name):
                text.refuse(
                    "recursive-query",
                    f"{name} is defined by itself",
                    at,
                    hint="a query of WITH reads sources and the queries that stand before it",
                )
        known[name] = analyze(table.this, known, name)
    return known


def _defines(node: exp.Expr, name: str) -> bool:
    return any(c.args["alias"].this.this == name for c in node.find_all(exp.CTE))


def check_inner(node: exp.Expr, text: Text) -> None:
    """Refuses clauses that mean nothing inside another query."""
    limit, partition = node.args.get("limit"), node.args.get("partition")
    if limit is not None:
        text.refuse("misplaced-limit", "LIMIT is for the whole query: a query inside another has no end", limit)
    if partition is not None:
        text.refuse(
            "inner-partition",
            "PARTITION BY says how results are written, a query inside another writes none",
            partition,
            hint="say it in the outer query",
        )


def view_of(query: TypedQuery, name: str | None) -> View:
    """A query as something to read; ``name``: how messages and columns call it."""
    left = query.relations[0]
    written = [o.expr for o in query.outputs if o.key]
    unkeyed = None
    if any(k not in written for k in query.keys):
        unkeyed = "it does not select the key of what it reads"
    elif left.view is not None and not query.joins and query.grouping is None:
        unkeyed = left.view.unkeyed
    columns = tuple(Column(o.name, o.expr.type, o.key and unkeyed is None) for o in query.outputs)
    return View(_source(name, query, columns), (query,), unkeyed)


def _source(name: str | None, query: TypedQuery, columns: tuple[Column, ...]) -> Source:
    left = query.relations[0].source
    return replace(
        left,
        name=name or "the inner query",
        kind=query.kind,
        columns=columns,
        key=left.key if any(c.key for c in columns) else KeySpec(NONE.name),
        timestamp=None,
        timestamp_format=None,
        window=query.window,
        query=None,
    )


# ---------------------------------------------------------------- UNION ALL


def union_view(branches: Sequence[tuple[exp.Expr, View]], name: str | None, text: Text) -> View:
    """The branches as one stream: names of the first, types that all widen to; raises AnalysisProblem."""
    for node, view in branches:
        _check_branch(node, view, text)
    queries = [view.queries[0] for _, view in branches]
    first = queries[0]
    columns: list[list[Column]] = []
    for (node, _), query in zip(branches, queries, strict=True):
        if len(query.outputs) != len(first.outputs):
            text.refuse(
                "union-columns",
                f"the first query of UNION ALL has {len(first.outputs)} columns, this one {len(query.outputs)}",
                node,
            )
    for i, column in enumerate(first.outputs):
        target = common_type(q.outputs[i].expr.type for q in queries)
        if target is None:
            types = [q.outputs[i].expr.type for q in queries]
            other = next(n for n, type_ in enumerate(types) if common_type(types[: n + 1]) is None)
            text.refuse(
                "union-types",
                f"column {column.name} of UNION ALL is {common_type(types[:other])} and {types[other]}",
                _item(branches[other][0], i, len(first.outputs)),
                hint="CAST one of them",
            )
        queries = [
            replace(
                q,
                outputs=tuple(
                    replace(o, name=column.name, expr=coerce(o.expr, target)) if n == i else o
                    for n, o in enumerate(q.outputs)
                ),
            )
            for q in queries
        ]
        columns.append([v.source.columns[i] for _, v in branches])
    unkeyed = next((v.unkeyed for _, v in branches if v.unkeyed is not None), None)
    if unkeyed is None and any(len({c.key for c in same}) > 1 for same in columns):
        unkeyed = "the queries of UNION ALL have their keys in different columns"
    made = tuple(
        Column(o.name, o.expr.type, same[0].key and unkeyed is None)
        for o, same in zip(queries[0].outputs, columns, strict=True)
    )
    return View(_source(name, queries[0], made), tuple(queries), unkeyed)


def _item(node: exp.Expr, number: int, columns: int) -> exp.Expr:
    """Where a column of a branch is written; the branch itself, if a star stands for several."""
    items = node.expressions
    found: exp.Expr = items[number] if len(items) == columns else node
    return found


def _check_branch(node: exp.Expr, view: View, text: Text) -> None:
    """A branch gives at most one row for each record, and remembers nothing."""
    parts: TypedQuery | None = view.queries[0]
    while parts is not None:
        left = parts.relations[0]
        what = (
            "has a JOIN" if parts.joins
            else "has GROUP BY" if parts.grouping is not None
            else "has a table function" if parts.tables
            else "has OVER" if parts.over or parts.ranking is not None
            else "reads another UNION ALL" if left.view is not None and len(left.view.queries) > 1
            else f"reads table {left.source.name}" if left.source.kind == "TABLE"
            else "reads a stream with windows" if left.source.window is not None
            else None
        )  # fmt: skip
        if what is not None:
            text.refuse(
                "union-branch",
                f"the queries of UNION ALL read a stream each, with or without WHERE; this one {what}",
                node,
                hint="several INSERT INTO … SELECT may write one stream" if what.startswith("has") else None,
            )
        parts = left.view.queries[0] if left.view is not None else None
