"""OVER: LAG and LEAD among the rows of a key, and ROW_NUMBER, whose rank the query around it limits.

These are this project's own, after standard SQL; ROW_NUMBER is as in Flink SQL (Top-N).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from sqlglot import exp

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.coercion import coerce
from ksqlpy.analysis.literals import loosened
from ksqlpy.analysis.order import sort_key
from ksqlpy.analysis.result import RANK, Ranking, Relation
from ksqlpy.analysis.scope import Text
from ksqlpy.catalog import Source
from ksqlpy.sql import nodes
from ksqlpy.types import BIGINT, BOOLEAN, NULL, DecimalType, SqlType, widens_to

__all__ = ["MAX_ROWS", "PartAnalyzer", "analyze_over", "limited", "ranking_of", "taken_out"]

MAX_ROWS = 1000
"""So far may LAG and LEAD look, and so many rows of a group may be ranked: a state holds them."""


class PartAnalyzer(Protocol):
    """What types the parts of a call: the analyzer of expressions."""

    text: Text

    def part(self, node: exp.Expr, place: str) -> t.Expr:
        """A scalar expression that stands in another one."""
        ...


def analyze_over(analyzer: PartAnalyzer, node: nodes.OverCall) -> t.OverCall:
    """The typed call; raises AnalysisProblem for whatever is wrong with it."""
    text, call = analyzer.text, node.this
    clause, order = node.args.get("partition"), node.args.get("order")
    partition = tuple(analyzer.part(n, "in OVER") for n in (clause.expressions if clause is not None else ()))
    for value, at in zip(partition, clause.expressions if clause is not None else (), strict=True):
        if value.type == NULL:
            text.refuse("untyped", "this NULL has no type", at)
    if call.this != "ROW_NUMBER":
        return _neighbour(analyzer, node, partition)
    if call.expressions:
        text.refuse("bad-argument", "ROW_NUMBER takes no argument", call.expressions[0])
    if order is None:
        text.refuse(
            "no-order", "ROW_NUMBER needs an order of the rows", node, hint="OVER (PARTITION BY … ORDER BY … DESC)"
        )
    keys = tuple(sort_key(item, analyzer.part(item.this, "in OVER"), text) for item in order.expressions)
    return t.OverCall(BIGINT, "ROW_NUMBER", partition, keys)


def _neighbour(analyzer: PartAnalyzer, node: nodes.OverCall, partition: tuple[t.Expr, ...]) -> t.OverCall:
    text, call, arguments = analyzer.text, node.this, node.this.expressions
    name: str = call.this
    if (order := node.args.get("order")) is not None:
        text.refuse(
            "misplaced-order", f"{name} takes rows in the order in which they arrive", order, hint="leave ORDER BY out"
        )
    if not 1 <= len(arguments) <= 3 or isinstance(arguments[0], exp.Star):
        text.refuse(
            "bad-argument", f"{name} takes a value, how many rows away it is, and a default", call,
            hint=f"{name}(amount), {name}(amount, 2)" + (", LAG(amount, 1, 0)" if name == "LAG" else ""),
        )  # fmt: skip
    value = analyzer.part(arguments[0], f"inside {name}")
    if value.type == NULL:
        text.refuse("untyped", "this NULL has no type", arguments[0], hint="CAST(NULL AS …) gives it one")
    offset = 1
    if len(arguments) > 1:
        found = analyzer.part(arguments[1], f"inside {name}")
        if not isinstance(found, t.Literal) or type(found.value) is not int:
            text.refuse("not-a-literal", f"the second argument of {name} must be a whole number", arguments[1])
        offset = found.value
        if not 1 <= offset <= MAX_ROWS:
            text.refuse("bad-argument", f"the offset of {name} must be between 1 and {MAX_ROWS}", arguments[1])
    default = None
    if len(arguments) > 2:
        at = arguments[2]
        if name == "LEAD":
            text.refuse(
                "bad-argument", "LEAD has no default: a row waits until the one that it looks at has arrived", at
            )
        default = loosened(analyzer.part(at, f"inside {name}"), value.type, at, analyzer.text)
        if not _widens(default, value.type):
            message = f"the value of {name} is {value.type}, the default {default.type}"
            text.refuse("mixed-types", message, at, hint="CAST one of them")
        default = coerce(default, value.type)
    return t.OverCall(value.type, name, partition, (), value, offset, default)


def _widens(value: t.Expr, target: SqlType) -> bool:
    """Whether the value may stand where ``target`` is wanted; a whole number has the digits that are written."""
    kind = value.type
    if isinstance(value, t.Literal) and type(value.value) is int and isinstance(target, DecimalType):
        kind = DecimalType(len(str(abs(value.value))), 0)
    return kind == NULL or widens_to(kind, target)


def taken_out(
    expr: t.Expr, calls: list[t.OverCall], node: exp.Expr, source: Source, text: Text, *, ranks: bool
) -> t.Expr:
    """The expression over the values of the calls in it, which are added to those that are known.

    ``source``: what is read; ``ranks``: whether ROW_NUMBER may stand here, in a query inside another.
    """

    def change(e: t.Expr) -> t.Expr | None:
        if not isinstance(e, t.OverCall):
            return None
        if source.kind == "TABLE":
            text.refuse("over-of-table", f"OVER needs a stream, {source.name} is a table", node)
        if e.function == "ROW_NUMBER" and source.window is not None:
            text.refuse("windowed-source", f"{source.name} has a windowed key, and its rows cannot be ranked", node)
        if e.function == "ROW_NUMBER" and (e != expr or not ranks):
            text.refuse(
                "misplaced-row-number",
                "ROW_NUMBER is a column of a query inside another, whose WHERE limits it",
                node,
                hint="SELECT … FROM (SELECT …, ROW_NUMBER() OVER (…) AS rank FROM …) WHERE rank <= 3",
            )
        ranked = "ROW_NUMBER" in (e.function, *(c.function for c in calls))
        if calls and (calls[0].partition != e.partition or (ranked and calls[0] != e)):
            text.refuse(
                "several-overs",
                "all calls with OVER in a query have the same PARTITION BY, and ROW_NUMBER stands alone",
                node,
                hint="take one of them in a query inside: SELECT … FROM (SELECT …)",
            )
        if e not in calls:
            calls.append(e)
        return t.ColumnRef(e.type, f"__o{calls.index(e)}")

    return t.rewrite(expr, change)


def ranking_of(calls: list[t.OverCall]) -> Ranking | None:
    """The ranking, if ROW_NUMBER is what is called."""
    found = next((c for c in calls if c.function == "ROW_NUMBER"), None)
    return Ranking(found.partition, found.order) if found is not None else None


def limited(relation: Relation, where: t.Expr | None, node: exp.Expr, text: Text) -> tuple[Relation, t.Expr | None]:
    """The relation with the limit of its ranking, and what is left of WHERE; others as they are.

    Raises AnalysisProblem ``no-rank-limit`` for a ranking that WHERE does not limit.
    """
    ranked = relation.view.queries[0] if relation.view is not None else None
    if relation.view is None or ranked is None or ranked.ranking is None:
        return relation, where
    name = next((o.name for o in ranked.outputs if o.expr == RANK), None)
    conditions = _conditions(where) if where is not None else []
    for i, condition in enumerate(conditions):
        limit = _limit(condition, t.ColumnRef(BIGINT, relation.internal(name))) if name is not None else None
        if limit is None:
            continue
        if not 1 <= limit <= MAX_ROWS:
            text.refuse("bad-argument", f"1 to {MAX_ROWS} rows of a group can be ranked, not {limit}", node)
        assert isinstance(condition, t.Compare)
        kept = condition.op == "=" and limit > 1
        rest = [c for n, c in enumerate(conditions) if n != i or kept]
        query = replace(ranked, ranking=replace(ranked.ranking, limit=limit))
        left: t.Expr | None = None
        for c in rest:
            left = c if left is None else t.Logical(BOOLEAN, "AND", left, c)
        return replace(relation, view=replace(relation.view, queries=(query,))), left
    text.refuse(
        "no-rank-limit",
        "rows without a limit cannot be ranked: each new one would change the rank of all behind it",
        node,
        hint=f"limit it in WHERE: {name or 'rank'} <= 3",
    )


def _conditions(where: t.Expr) -> list[t.Expr]:
    """What AND connects."""
    if isinstance(where, t.Logical) and where.op == "AND":
        return [*_conditions(where.left), *_conditions(where.right)]
    return [where]


_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def _limit(condition: t.Expr, rank: t.ColumnRef) -> int | None:
    """The last rank that the condition lets pass, if it says that."""
    if not isinstance(condition, t.Compare) or condition.op not in _TURNED:
        return None
    op, left, right = condition.op, condition.left, condition.right
    if right == rank:
        op, left, right = _TURNED[op], right, left
    if isinstance(right, t.Cast):
        right = right.value
    if left != rank or not isinstance(right, t.Literal) or type(right.value) is not int:
        return None
    return {"<=": right.value, "<": right.value - 1, "=": right.value}.get(op)
