"""Values of SQL types as Python has them.

Inside of the engine and in its answers BYTES are Base64, a DOUBLE may be the text NaN, and dates and times are numbers
(of days, or of milliseconds) or, over REST, texts in ISO 8601.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from ksqlpy.errors import EngineProblem
from ksqlpy.session.rows import Column, Row, row_type
from ksqlpy.types import BYTES, DATE, DOUBLE, TIME, TIMESTAMP, ArrayType, DecimalType, MapType, SqlType, StructType

__all__ = ["row_maker"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1).toordinal()
_MILLISECOND = timedelta(milliseconds=1)

Reader = Callable[[Any], Any]


def row_maker(columns: Sequence[Column]) -> Callable[[Sequence[Any]], Row]:
    """What makes a row of values as the engine has them.

    Raises EngineProblem ``date-out-of-range`` for a day that Python does not have.
    """
    made = row_type(tuple(c.name for c in columns))
    changed = [(i, f) for i, c in enumerate(columns) if (f := _reader(c.type)) is not None]
    if not changed:
        return made

    def row(values: Sequence[Any]) -> Row:
        own = list(values)  # others may have the same row
        for place, read in changed:
            value = own[place]
            if value is not None:
                own[place] = read(value)
        return made(own)

    return row


def _reader(type_: SqlType) -> Reader | None:
    """What reads a value of the type; None where it is itself."""
    if type_ in _READERS:
        return _READERS[type_]
    match type_:
        case DecimalType():
            return _decimal
        case ArrayType(item) if (one := _reader(item)) is not None:
            read = one
            return lambda v: [None if x is None else read(x) for x in v]
        case MapType(_, item) if (one := _reader(item)) is not None:
            read = one
            return lambda v: {k: None if x is None else read(x) for k, x in v.items()}
        case StructType(fields):
            found = {n: f for n, t in fields if (f := _reader(t)) is not None}
            if found:
                return lambda v: {n: x if x is None or n not in found else found[n](x) for n, x in v.items()}
    return None


def _decimal(value: Any) -> Decimal:
    return value if type(value) is Decimal else Decimal(value)


def _date(value: Any) -> date:
    try:
        return date.fromisoformat(value) if isinstance(value, str) else date.fromordinal(_FIRST_DAY + value)
    except (ValueError, OverflowError) as e:
        raise _out_of_range(value, "DATE") from e


def _time(value: Any) -> time:
    if isinstance(value, str):
        return time.fromisoformat(value)
    seconds, ms = divmod(value, 1000)
    minutes, second = divmod(seconds % 86_400, 60)
    return time(minutes // 60, minutes % 60, second, ms * 1000)


def _timestamp(value: Any) -> datetime:
    try:
        if isinstance(value, str):
            return datetime.fromisoformat(value).replace(tzinfo=UTC)
        return _EPOCH + _MILLISECOND * int(value)
    except (ValueError, OverflowError) as e:
        raise _out_of_range(value, "TIMESTAMP") from e


def _out_of_range(value: object, type_: str) -> EngineProblem:
    return EngineProblem(
        "date-out-of-range",
        f"the {type_} {value} is not in the years 1 to 9999, which Python has",
        hint="select it as a text: CAST(… AS STRING)",
    )


_READERS: Mapping[SqlType, Reader] = {
    BYTES: base64.b64decode,
    DATE: _date,
    DOUBLE: float,
    TIME: _time,
    TIMESTAMP: _timestamp,
}
