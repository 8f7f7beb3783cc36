"""Literals: the types that numbers have, and what a literal is read as where another type is wanted."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from sqlglot import exp

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.coercion import MAX_PRECISION, TEMPORAL, coerce
from ksqlpy.analysis.constants import check_text
from ksqlpy.analysis.scope import Text
from ksqlpy.types import (
    ALL_DIGITS,
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    NULL,
    STRING,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
    common_type,
    is_numeric,
    widens_to,
)

__all__ = ["MAX_INT", "decimal_literal", "double_literal", "loosened", "text_as"]

MAX_INT = 2**31 - 1


def double_literal(raw: str, node: exp.Expr, text: Text) -> t.Expr:
    """A number as a DOUBLE; raises AnalysisProblem ``number-too-large``."""
    value = float(raw)
    if math.isinf(value):
        text.refuse("number-too-large", f"{raw} is beyond what a DOUBLE holds", node)
    return t.Literal(DOUBLE, value)


def decimal_literal(raw: str, node: exp.Expr, text: Text) -> t.Expr:
    """A number as a DECIMAL that has its digits; raises AnalysisProblem ``invalid-number``, ``number-too-large``."""
    try:
        value = Decimal(raw.strip())
    except ArithmeticError:
        text.refuse("invalid-number", f"{raw!r} is no decimal number", node)
    _, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    precision = max(len(digits), scale)
    if precision > MAX_PRECISION:
        text.refuse("number-too-large", f"a DECIMAL has at most {MAX_PRECISION} digits", node)
    return t.Literal(DecimalType(max(precision, 1), scale), value)


def text_as(value: t.Literal, wanted: SqlType, node: exp.Expr, text: Text) -> t.Expr:
    """A string literal as a constant of a type that it is cast to; refuses a text that is none."""
    if isinstance(value.value, str):
        check_text(value.value, wanted, node, text)
    return t.Cast(wanted, value)


def loosened(value: t.Expr, like: SqlType, node: exp.Expr, text: Text) -> t.Expr:
    """A literal, also inside of a constructor, read as what is wanted where it stands (ksqlDB, coercion)."""
    match value, like:
        case t.ArrayOf(items=items), ArrayType(item):
            loose = [loosened(i, item, node, text) for i in items]
            kind = common_type(i.type for i in loose if i.type != NULL)
            return t.ArrayOf(ArrayType(kind), tuple(coerce(i, kind) for i in loose)) if kind else value
        case t.MapOf(entries=entries), MapType(key, item):
            keys = [loosened(k, key, node, text) for k, _ in entries]
            values = [loosened(v, item, node, text) for _, v in entries]
            one, two = (common_type(e.type for e in x if e.type != NULL) for x in (keys, values))
            if one is None or two is None:
                return value
            pairs = tuple((coerce(k, one), coerce(v, two)) for k, v in zip(keys, values, strict=True))
            return t.MapOf(MapType(one, two), pairs)
        case t.StructOf(fields=fields), StructType():
            parts = tuple((n, loosened(v, like.field(n) or v.type, node, text)) for n, v in fields)
            return t.StructOf(StructType(tuple((n, v.type) for n, v in parts)), parts)
        case t.Literal(type=kind), _ if kind not in (like, NULL):
            return _loose_literal(value, like, node, text)
    return value


def _loose_literal(value: t.Literal, like: SqlType, node: exp.Expr, text: Text) -> t.Expr:
    raw = value.value
    if like == STRING and isinstance(raw, bool | int | Decimal):
        return t.Literal(STRING, f"{raw:f}" if isinstance(raw, Decimal) else str(raw).lower())
    if like == STRING and isinstance(raw, float):
        return t.Cast(STRING, value)
    if not isinstance(raw, str):
        return value
    if is_numeric(like):
        if not re.fullmatch(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*", raw):
            text.refuse("invalid-number", f"{raw!r} is no number, and one is wanted here", node)
        if like == DOUBLE or "e" in raw.lower():
            return double_literal(raw, node, text)
        exact = decimal_literal(raw, node, text)
        number = None if "." in raw else int(raw)
        if isinstance(like, DecimalType):
            return _in_digits(exact, like)
        if number is not None and -MAX_INT - 1 <= number <= MAX_INT:
            return t.Literal(INTEGER, number)
        return t.Literal(BIGINT, number) if number is not None and -(2**63) <= number < 2**63 else exact
    word = raw.strip().lower()
    if like == BOOLEAN and word and any(w.startswith(word) for w in ("true", "yes", "false", "no")):
        return t.Literal(BOOLEAN, "true".startswith(word) or "yes".startswith(word))
    return text_as(value, like, node, text) if like in TEMPORAL else value


def _in_digits(value: t.Expr, like: DecimalType) -> t.Expr:
    """A DECIMAL literal in a type that has all its digits, else as it is: so that a column need not be widened."""
    assert isinstance(value, t.Literal) and isinstance(value.type, DecimalType) and isinstance(value.value, Decimal)
    if not widens_to(value.type, like):
        return value
    return t.Literal(like, value.value.quantize(Decimal(1).scaleb(-like.scale), context=ALL_DIGITS))
