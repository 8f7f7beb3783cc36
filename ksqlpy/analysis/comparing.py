"""The type in which two sides are compared."""

from __future__ import annotations

from sqlglot import exp

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.coercion import TEMPORAL, coerce
from ksqlpy.analysis.literals import text_as
from ksqlpy.analysis.scope import Text
from ksqlpy.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
    MapType,
    StructType,
    common_type,
    is_numeric,
)

__all__ = ["comparable_sides"]


def comparable_sides(
    left: t.Expr, right: t.Expr, op: str, node: exp.Expr, at: tuple[exp.Expr, exp.Expr], text: Text
) -> tuple[t.Expr, t.Expr]:
    """Both sides in the type they are compared in: numbers widened, ISO text read where the other is a time.

    ``at``: where the sides stand.
    """
    if left.type == NULL or right.type == NULL:
        other = right.type if left.type == NULL else left.type
        other = BOOLEAN if other == NULL else other
        return coerce(left, other), coerce(right, other)
    left, right = _time_text(left, right, at[0], text), _time_text(right, left, at[1], text)
    if is_numeric(left.type) and is_numeric(right.type):
        number = common_type((left.type, right.type)) or DOUBLE
        return coerce(left, number), coerce(right, number)
    if {left.type, right.type} == {DATE, TIMESTAMP}:
        return coerce(left, TIMESTAMP), coerce(right, TIMESTAMP)
    equality = op in ("=", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
    if left.type == right.type and (
        equality or not (left.type == BOOLEAN or isinstance(left.type, ArrayType | MapType | StructType))
    ):
        return left, right
    common = common_type((left.type, right.type)) if equality else None
    if common is None:
        text.refuse(
            "not-comparable",
            f"{left.type} and {right.type} cannot be compared with {op}",
            node,
            hint="CAST one side",
        )
    return coerce(left, common), coerce(right, common)


def _time_text(value: t.Expr, other: t.Expr, node: exp.Expr, text: Text) -> t.Expr:
    """An ISO string literal beside a time, a date or a timestamp is one; a TIMESTAMP beside ROWTIME is its number."""
    if _is_timestamp(value) and isinstance(other, t.ColumnRef) and other.name in t.TIMES and other.type == BIGINT:
        return t.Cast(BIGINT, value)
    if not isinstance(value, t.Literal) or value.type != STRING:
        return value
    if other.type in TEMPORAL:
        return text_as(value, other.type, node, text)
    if isinstance(other, t.ColumnRef) and other.name in t.TIMES:
        return t.Cast(BIGINT, text_as(value, TIMESTAMP, node, text))
    return value


def _is_timestamp(value: t.Expr) -> bool:
    """Whether it is ``CAST('…' AS TIMESTAMP)``, as a program's datetime comes."""
    return value.type == TIMESTAMP and isinstance(value, t.Cast) and isinstance(value.value, t.Literal)
