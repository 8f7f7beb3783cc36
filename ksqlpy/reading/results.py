"""Plain columns of a row as the values that an answer's JSON has: what Spark's text writes of them."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Output
from ksqlpy.reading.calls import Calls, call_of
from ksqlpy.reading.conditions import folded
from ksqlpy.types import BIGINT, BYTES, DOUBLE, INTEGER, ArrayType, MapType, SqlType, StructType

__all__ = ["Gone", "Token", "projection_of"]

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Token:
    """Where a push query is: who gives it back goes on behind the rows that came before it."""

    text: str


@dataclass(frozen=True)
class Gone:
    """The columns of a row of a table that is gone: its key, all else null."""

    columns: list[Any]


def projection_of(outputs: Sequence[Output], calls: Calls | None = None) -> Callable[[Row], list[Any]] | None:
    """The columns of the result of a row; None where one of them is not plain: a column, a field or a constant.

    ``calls``: of functions in Python; without it they are not plain.
    """
    columns = [_column(o.expr, calls) for o in outputs]
    plain = [c for c in columns if c is not None]
    if len(plain) < len(columns):
        return None
    return lambda row: [column(row) for column in plain]


def _column(expr: t.Expr, calls: Calls | None) -> Callable[[Row], Any] | None:
    shown = _shown(expr.type)
    found = folded(expr)
    if found is not None:
        constant = None if found[0] is None else shown(found[0]) if shown is not None else found[0]
        return lambda row: constant
    inner = _inner(expr, calls)
    if inner is None or shown is None:
        return inner
    write, of = shown, inner
    return lambda row: None if (v := of(row)) is None else write(v)


def _inner(expr: t.Expr, calls: Calls | None) -> Callable[[Row], Any] | None:
    match expr:
        case t.ColumnRef(name=name) if not t.computed(name):
            return lambda row: row[name]
        case t.FieldRef(value=value, name=name):
            of = _inner(value, calls)
            if of is None:
                return None
            return lambda row: None if (v := of(row)) is None else v[name]
    return call_of(expr, lambda e: _argument(e, calls), calls)


def _argument(expr: t.Expr, calls: Calls | None) -> Callable[[Row], Any] | None:
    found = folded(expr)
    if found is not None:
        constant = found[0]
        return lambda row: constant
    if isinstance(expr, t.Cast) and expr.value.type in (INTEGER, BIGINT) and expr.type in (BIGINT, DOUBLE):
        inner, wider = _argument(expr.value, calls), float if expr.type == DOUBLE else int
        return None if inner is None else lambda row: None if (v := inner(row)) is None else wider(v)
    return _inner(expr, calls)


def _shown(type_: SqlType) -> Callable[[Any], Any] | None:
    """What a value of the type is in JSON; None where it is itself."""
    match type_:
        case ArrayType(item):
            inner = _shown(item)
            if inner is None:
                return None
            one = inner
            return lambda v: [None if x is None else one(x) for x in v]
        case MapType(_, item):
            inner = _shown(item)
            if inner is None:
                return None
            one = inner
            return lambda v: {k: None if x is None else one(x) for k, x in v.items()}
        case StructType(fields):
            parts = [(n, _shown(f)) for n, f in fields]
            if all(f is None for _, f in parts):
                return None
            return lambda v: {n: v[n] if f is None or v[n] is None else f(v[n]) for n, f in parts}
    if type_ == BYTES:
        return lambda v: base64.b64encode(v).decode()
    if type_ == DOUBLE:
        return _double
    return None


def _double(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
