"""Dates and times of a row as the ISO 8601 texts that the JSON of the REST API has; rows themselves have numbers.

Source of the rules: ksqlDB's mapper of its REST API: DATE ``2024-05-06``, TIME ``07:08`` or ``07:08:09``, TIMESTAMP
``2024-05-06T07:08:09.000``, in UTC, also within arrays, maps and structs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Any

from ksqlpy.types import DATE, TIME, TIMESTAMP, ArrayType, MapType, SqlType, StructType

__all__ = ["texts_of"]

_EPOCH = date(1970, 1, 1)
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
"""After which the calendar is the same again."""
_DAY_MS = 86_400_000


def texts_of(types: Sequence[SqlType]) -> Callable[[Sequence[Any]], list[Any]] | None:
    """What makes the JSON values of such columns those with texts; None where no column has a date or time."""
    parts = [_text(t) for t in types]
    if not any(parts):
        return None
    return lambda values: [v if f is None or v is None else f(v) for f, v in zip(parts, values, strict=True)]


def _text(type_: SqlType) -> Callable[[Any], Any] | None:
    if type_ in _TEXTS:
        return _TEXTS[type_]
    match type_:
        case ArrayType(item) if (one := _text(item)) is not None:
            text = one
            return lambda v: [None if x is None else text(x) for x in v]
        case MapType(_, item) if (one := _text(item)) is not None:
            text = one
            return lambda v: {k: None if x is None else text(x) for k, x in v.items()}
        case StructType(fields):
            found = {n: field for n, t in fields if (field := _text(t)) is not None}
            if found:
                return lambda v: {n: x if x is None or n not in found else found[n](x) for n, x in v.items()}
    return None


def _date(days: int) -> str:
    # Python has the years 1 to 9999 only.
    cycles = 0 if -_CYCLE_DAYS <= days < 20 * _CYCLE_DAYS else days // _CYCLE_DAYS
    found = _EPOCH + timedelta(days - cycles * _CYCLE_DAYS)
    year = found.year + cycles * _CYCLE_YEARS
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{found:%m-%d}"


def _time(ms: int) -> str:
    minutes, seconds = divmod(ms // 1000 % 86_400, 60)
    text = f"{minutes // 60:02}:{minutes % 60:02}"
    return f"{text}:{seconds:02}" if seconds else text


def _timestamp(ms: int) -> str:
    days, rest = divmod(ms, _DAY_MS)
    minutes, rest = divmod(rest, 60_000)
    return f"{_date(days)}T{minutes // 60:02}:{minutes % 60:02}:{rest // 1000:02}.{rest % 1000:03}"


_TEXTS: dict[SqlType, Callable[[Any], Any]] = {DATE: _date, TIME: _time, TIMESTAMP: _timestamp}
