"""Plain conditions as Python functions of a row: comparisons of columns with constants, AND, OR, NOT, IN, LIKE.

They say what the Spark text of the same expression says (:mod:`ksqlpy.spark.expressions`), which ``plain.txt`` of
``tests/commands`` holds: a comparison with null is false, STRINGs are ordered by UTF-16 units, and NaN differs from
everything and is neither above nor below it, save to BETWEEN, IN and DISTINCT: there it is equal to itself and above
all numbers.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.constants import constant_of
from ksqlpy.reading.calls import Calls, call_of
from ksqlpy.types import (
    ALL_DIGITS,
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
)

__all__ = ["Condition", "Constants", "condition_of", "folded"]

Row = Mapping[str, Any]
Condition = Callable[[Row], bool]
Value = Callable[[Row], Any]
Constants = Mapping[t.Expr, Any]
"""Values of constant expressions that somebody else has computed."""

_COMPARABLE = {BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP}
_OPS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class _Known:
    constants: Constants
    calls: Calls | None


class NotPlain(Exception):
    """The expression is left to Spark."""


def condition_of(expr: t.Expr, constants: Constants | None = None, calls: Calls | None = None) -> Condition | None:
    """Whether a row meets a condition; None where it is not plain. ``calls``: of functions in Python, if they are."""
    try:
        return _condition(expr, _Known(constants or {}, calls))
    except NotPlain:
        return None


def folded(expr: t.Expr) -> tuple[Any] | None:
    """The value of a literal, also of a number in a wider type, and of literals in ARRAY, MAP and STRUCT.

    None for everything else, and for what fails.
    """
    match expr:
        case t.Literal(value=value):
            return (value,)
        case t.Cast(type=type_, value=t.Literal(type=kind, value=str() as text)) if kind == STRING != type_:
            read = constant_of(text, type_)
            return None if read is None else (read,)
        case t.Cast(type=type_, value=t.Cast(type=kind) as inner) if type_ == BIGINT and kind == TIMESTAMP:
            return folded(inner)  # ROWTIME = '2024-05-06', both in ms
        case t.Cast(type=wider, value=inner):
            found = folded(inner)
            return None if found is None else _widened(found[0], inner.type, wider)
        case t.Negate(type=type_, value=inner):
            found = folded(inner)
            return None if found is None else _negative(found[0], type_)
        case t.ArrayOf(items=items):
            all_items = [folded(i) for i in items]
            return None if None in all_items else ([i[0] for i in all_items if i is not None],)
        case t.StructOf(fields=fields):
            parts = {n: folded(v) for n, v in fields}
            return None if None in parts.values() else ({n: v[0] for n, v in parts.items() if v is not None},)
        case t.MapOf(entries=entries):
            made: dict[Any, Any] = {}
            for name, given in entries:
                k, v = folded(name), folded(given)
                if k is None or v is None or k[0] is None or k[0] in made:
                    return None
                made[k[0]] = v[0]
            return (made,)
    return None


def _negative(value: Any, type_: SqlType) -> tuple[Any] | None:
    if value is None:
        return (None,)
    if type_ in (INTEGER, BIGINT):
        return None if value == -(2**31 if type_ == INTEGER else 2**63) else (-value,)
    if isinstance(value, Decimal):
        return (value.copy_negate() if value else value,)
    return (-value,) if isinstance(value, float) else None


def _widened(value: Any, source: SqlType, target: SqlType) -> tuple[Any] | None:
    if value is None or source == target:
        return (value,)
    match source, target:
        case ArrayType(item), ArrayType(wider):
            items = [_widened(v, item, wider) for v in value]
            return None if None in items else ([i[0] for i in items if i is not None],)
        case MapType(_, item), MapType(key, wider) if source.key == key:
            entries = {k: _widened(v, item, wider) for k, v in value.items()}
            return None if None in entries.values() else ({k: v[0] for k, v in entries.items() if v is not None},)
    if source in (INTEGER, BIGINT):
        if target == BIGINT:
            return (value,)
        if target == DOUBLE:
            return (float(value),)
    if isinstance(target, DecimalType) and (source in (INTEGER, BIGINT) or isinstance(source, DecimalType)):
        exact = Decimal(value) or Decimal(0)  # which has no sign
        _, digits, exponent = exact.as_tuple()
        assert isinstance(exponent, int)
        if -exponent > target.scale or len(digits) + exponent > target.precision - target.scale:
            return None
        return (exact.quantize(Decimal(1).scaleb(-target.scale), context=ALL_DIGITS),)
    if isinstance(source, DecimalType) and target == DOUBLE:
        return (float(value) if value else 0.0,)
    return None


def _condition(expr: t.Expr, known: _Known) -> Condition:
    match expr:
        case t.Logical(op=op, left=left, right=right):
            a, b = _condition(left, known), _condition(right, known)
            return (lambda row: a(row) and b(row)) if op == "AND" else (lambda row: a(row) or b(row))
        case t.Not(value=value) if not _may_be_null(value):
            inner = _condition(value, known)
            return lambda row: not inner(row)
        case t.IsNull(value=value):
            of = _value(value, known)
            return lambda row: of(row) is None
        case t.Compare(op=op, left=left, right=right):
            return _compared(op, left, right, known)
        case t.Between(value=value, low=low, high=high):
            above, below = (_compared(op, value, bound, known, nan=True) for op, bound in ((">=", low), ("<=", high)))
            return lambda row: above(row) and below(row)
        case t.InList(value=value, items=items):
            any_of = [_compared("=", value, item, known, nan=True) for item in items]
            return lambda row: any(equal(row) for equal in any_of)
        case t.Like(value=value, pattern=pattern, escape=None):
            return _like(value, pattern, known)
    called = call_of(expr, lambda e: _value(e, known), known.calls)
    if called is not None:
        return lambda row: called(row) is True
    raise NotPlain


def _may_be_null(expr: t.Expr) -> bool:
    """Whether a condition has a call as a part, and not as a side of a comparison: NOT of null is null."""
    parts = isinstance(expr, t.Logical | t.Not) and any(map(_may_be_null, t.children(expr)))
    return parts or isinstance(expr, t.FunctionCall)


def _value(expr: t.Expr, known: _Known) -> Value:
    if expr in known.constants:
        constant = known.constants[expr]
        return lambda row: constant
    found = folded(expr)
    if found is not None:
        value = found[0]
        return lambda row: value
    if isinstance(expr, t.ColumnRef) and not t.computed(expr.name):
        name = expr.name
        return lambda row: row[name]
    if isinstance(expr, t.Cast) and expr.value.type in (INTEGER, BIGINT) and expr.type in (BIGINT, DOUBLE):
        inner, wider = _value(expr.value, known), float if expr.type == DOUBLE else int
        return lambda row: None if (v := inner(row)) is None else wider(v)
    called = call_of(expr, lambda e: _value(e, known), known.calls)
    if called is not None:
        return called
    raise NotPlain


def _compared(op: str, left: t.Expr, right: t.Expr, known: _Known, *, nan: bool = False) -> Condition:
    """``nan``: NaN is equal to itself and above all numbers."""
    type_ = left.type
    if type_ not in _COMPARABLE and not isinstance(type_, DecimalType):
        raise NotPlain
    if type_ != right.type and not (isinstance(type_, DecimalType) and isinstance(right.type, DecimalType)):
        raise NotPlain
    a, b = _value(left, known), _value(right, known)
    if op in ("IS DISTINCT FROM", "IS NOT DISTINCT FROM"):
        same = _compared("=", left, right, known, nan=True)
        wanted = op == "IS NOT DISTINCT FROM"
        return lambda row: (same(row) or (a(row) is None and b(row) is None)) == wanted
    compare = _OPS[op]
    order: Callable[[Any], Any] | None = None
    if type_ == DOUBLE and nan:
        order = _double
    elif type_ == STRING and op not in ("=", "<>"):
        order = _units
    if order is not None:
        ordered = order
        return lambda row: (x := a(row)) is not None and (y := b(row)) is not None and compare(ordered(x), ordered(y))
    return lambda row: (x := a(row)) is not None and (y := b(row)) is not None and compare(x, y)


def _double(value: float) -> tuple[bool, float]:
    return (True, 0.0) if math.isnan(value) else (False, value)


def _units(value: str) -> bytes:
    return value.encode("utf-16-be", "surrogatepass")


def _like(value: t.Expr, pattern: t.Expr, known: _Known) -> Condition:
    found = folded(pattern)
    if found is None or not isinstance(found[0], str) or value.type != STRING:
        raise NotPlain
    matches, of = re.compile(_like_form(found[0]), re.DOTALL).fullmatch, _value(value, known)
    return lambda row: (text := of(row)) is not None and matches(text) is not None


def _like_form(pattern: str) -> str:
    """A regular expression for a pattern of LIKE. Without ESCAPE nothing escapes (ksqlDB, LIKE).

    Each % takes as little as possible and is not tried again (an atomic group), so the work is at most the length of
    the text times that of the pattern; the text behind the last % is the end of the whole.
    """
    first, *others = ("".join("." if c == "_" else re.escape(c) for c in part) for part in pattern.split("%"))
    if not others:
        return first
    return first + "".join(f"(?>.*?{part})" for part in others[:-1] if part) + ".*" + others[-1]
