"""Types that statements name."""

from __future__ import annotations

from sqlglot import exp

from ksqlpy.analysis.coercion import MAX_PRECISION
from ksqlpy.analysis.scope import Text
from ksqlpy.errors import similar_names
from ksqlpy.sql import nodes, to_sql
from ksqlpy.types import SqlType

__all__ = ["data_type"]

_TYPES = [*nodes.BUILT_IN_TYPES, "DECIMAL", "ARRAY", "MAP", "STRUCT"]


def data_type(node: exp.Expr, text: Text) -> SqlType:
    """The type that a TypeName names; raises AnalysisProblem ``unknown-type`` or ``invalid-type``."""
    assert isinstance(node, nodes.TypeName)
    for part in node.find_all(nodes.TypeName):
        if part.this == "DECIMAL" and int(part.expressions[0].this) > MAX_PRECISION:
            text.refuse(
                "invalid-type",
                f"{to_sql(part)} has too many digits",
                part,
                hint=f"the precision goes from 1 to {MAX_PRECISION}, the scale from 0 to the precision",
            )
    found = node.resolve(text.types)
    if found is None:
        named = [n for n in node.find_all(nodes.TypeName) if n.args.get("user")]
        unknown = next((n for n in named if n.this not in text.types), node)
        text.refuse(
            "unknown-type",
            f"there is no type {unknown.this}",
            unknown,
            similar=similar_names(unknown.this, [*_TYPES, *text.types]),
        )
    return found
