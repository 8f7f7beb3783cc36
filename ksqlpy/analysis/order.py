"""ORDER BY: of pull queries, and in OVER."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Output
from ksqlpy.analysis.scope import Text
from ksqlpy.sql import nodes
from ksqlpy.types import NULL, ArrayType, MapType, StructType

__all__ = ["order_of", "sort_key"]


def sort_key(item: exp.Expr, value: t.Expr, text: Text) -> t.SortKey:
    """What an OrderItem sorts by; nulls come first, and with DESC last, as in Spark. Raises AnalysisProblem."""
    if value.type == NULL or isinstance(value.type, ArrayType | MapType | StructType):
        text.refuse("not-comparable", f"values of type {value.type} have no order", item)
    descending, nulls = bool(item.args.get("desc")), item.args.get("nulls")
    return t.SortKey(value, descending, nulls == "FIRST" if nulls else not descending)


def order_of(
    node: nodes.Query,
    analyze: Callable[[exp.Expr], t.Expr],
    outputs: Sequence[Output],
    text: Text,
    *,
    persistent: bool,
) -> tuple[t.SortKey, ...]:
    """ORDER BY, an extension: of pull queries only, by columns of the result or by other expressions.

    ``analyze`` types these. Raises AnalysisProblem.
    """
    order = node.args.get("order")
    if order is None:
        return ()
    if persistent or node.args.get("emit") is not None:
        text.refuse(
            "misplaced-order",
            "ORDER BY is for pull queries: what has no end cannot be sorted",
            order,
            hint="leave it out, or ask a table without EMIT",
        )
    named = {o.name: o.expr for o in outputs}
    keys = []
    for item in order.expressions:
        name = item.this.name if isinstance(item.this, exp.Column) and item.this.args.get("table") is None else None
        value = named.get(name) if name is not None else None
        if value is None:
            value = analyze(item.this)
        keys.append(sort_key(item, value, text))
    return tuple(keys)
