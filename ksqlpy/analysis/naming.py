"""What columns are called: by themselves, and in messages."""

from __future__ import annotations

from sqlglot import exp

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Relation
from ksqlpy.sql import nodes, to_sql

__all__ = ["bare", "is_system", "key_name", "own_name"]


def is_system(expr: t.Expr) -> bool:
    """Whether it is a pseudo column."""
    return isinstance(expr, t.ColumnRef) and expr.name.startswith("__")


def bare(node: exp.Expr) -> exp.Expr:
    """The expression without the brackets around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def own_name(node: exp.Expr, relations: tuple[Relation, ...]) -> str | None:
    """The name that an item without alias has by itself: of a column, or of the last field of a struct access.

    In a join ``a.x`` is called A_X where several sources have a column X; pseudo columns are in each.
    """
    node = bare(node)
    if isinstance(node, exp.Column):
        name: str = node.this.this
        alias = node.args.get("table")
        owners = sum(r.source.column(name) is not None or name in t.SYSTEM for r in relations)
        return f"{alias.this}_{name}" if alias is not None and owners > 1 else name
    if isinstance(node, nodes.FieldAccess):
        field: str = node.expression.this
        return field
    return None


def key_name(key: t.Expr, query: nodes.Query) -> str:
    """How a message calls a key: its name, or for a grouping expression its text."""
    if isinstance(key, t.ColumnRef) and key.name.startswith("__k"):
        return to_sql(query.args["group"].expressions[int(key.name[3:])])
    if isinstance(key, t.ColumnRef):
        return next((n for n, (internal, _) in t.SYSTEM.items() if internal == key.name), key.name)
    return to_sql(query.args["partition"])
