"""What is brought to which type, by CAST or without; the types of decimal arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.analysis import typed as t
from ksqlpy.functions import Function
from ksqlpy.types import (
    BOOLEAN,
    BYTES,
    DATE,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
    is_numeric,
)

__all__ = ["MAX_PRECISION", "TEMPORAL", "castable", "coerce", "decimal_digits", "decimal_result", "time_of_text"]

MAX_PRECISION = 38
"""Spark's decimals have so many digits."""

TEMPORAL = (DATE, TIME, TIMESTAMP)
"""The types of ISO texts."""


def coerce(value: t.Expr, target: SqlType) -> t.Expr:
    """The value as ``target``, which it is known to widen to."""
    if value.type == target:
        return value
    if value.type == NULL:
        return t.Literal(target, None)
    return t.Cast(target, value)


def castable(source: SqlType, target: SqlType) -> bool:
    """Whether CAST between the types is legal (ksqlDB, CAST table)."""
    if source in (target, NULL):
        return True
    if target == STRING:
        return source != BYTES
    if source == STRING:
        return is_numeric(target) or target in (BOOLEAN, BYTES, *TEMPORAL)
    if is_numeric(source) and is_numeric(target):
        return True
    if source == TIMESTAMP:
        return target in (DATE, TIME)
    if source == DATE:
        return target == TIMESTAMP
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return castable(source.item, target.item)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return castable(source.key, target.key) and castable(source.value, target.value)
    if isinstance(source, StructType) and isinstance(target, StructType):
        return all(castable(f, w) for n, f in source.fields if (w := target.field(n)) is not None)
    return False


_WHOLE_DIGITS = 14
"""So many digits ahead of the point a DECIMAL keeps, if it has them, before it gives up places behind it."""


def decimal_result(op: str, a: DecimalType, b: DecimalType) -> DecimalType:
    """The type of decimal arithmetic (ksqlDB, operators), with at most 38 digits.

    Of more than these, digits ahead of the point give way first, down to 14: the places are what people see.
    """
    precision, scale = decimal_digits(op, a, b)
    if precision > MAX_PRECISION:
        scale = min(scale, MAX_PRECISION - min(precision - scale, _WHOLE_DIGITS))
        precision = MAX_PRECISION
    return DecimalType(precision, scale)


def decimal_digits(op: str, a: DecimalType, b: DecimalType) -> tuple[int, int]:
    """Precision and scale of decimal arithmetic in ksqlDB, which knows no limit."""
    if op in "+-":
        scale = max(a.scale, b.scale)
        return max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale
    if op == "*":
        return a.precision + b.precision + 1, a.scale + b.scale
    if op == "/":
        scale = max(6, a.scale + b.precision + 1)
        return a.precision - a.scale + b.scale + scale, scale
    scale = max(a.scale, b.scale)
    return min(a.precision - a.scale, b.precision - b.scale) + scale, scale


def time_of_text(function: Function, values: Sequence[object]) -> SqlType | None:
    """Which time ISO texts are beside times where all arguments are of one type, as in LEAST(DUE, '2024-05-06')."""
    one_type = any(len({*s.parameters}) == 1 and getattr(s.parameters[0], "same", False) for s in function.signatures)
    if not one_type:
        return None
    return next((v.type for v in values if isinstance(v, t.Expr) and v.type in TEMPORAL), None)
