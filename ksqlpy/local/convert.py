"""A value from a file becomes one of a column's type; more is taken than a format would, but nothing is lost."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from ksqlpy.local.rows import json_text
from ksqlpy.types import (
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
    StructType,
)

__all__ = ["Misfit", "convert"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def convert(value: Any, type_: SqlType) -> Any:
    """The value as one of the type (see :class:`~ksqlpy.local.rows.Row`); None stays None.

    Texts are read as they would be written in SQL or ISO 8601, a moment without a zone as UTC; numbers stand for days
    since 1970 (DATE), milliseconds of the day (TIME) or since 1970 (TIMESTAMP); texts of nested types are JSON.
    Raises Misfit with what is wrong.
    """
    if value is None:
        return None
    if isinstance(type_, ArrayType | MapType | StructType):
        return _nested(value, type_)
    try:
        if isinstance(type_, DecimalType):
            return _decimal(value, type_)
        return _SCALARS[type_](value)
    except (ValueError, TypeError, ArithmeticError) as e:
        said = str(e) if isinstance(e, _Unfit) else ""
        raise Misfit(f"{_shown(value)} is no {type_}{said and f': {said}'}") from e


class Misfit(ValueError):
    """A value that is none of the type; ``path``: where it stands in a nested one, such as ``[2]->NAME``."""

    def __init__(self, said: str, path: str = "") -> None:
        super().__init__(f"{path}: {said}" if path else said)
        self.said = said
        self.path = path


class _Unfit(ValueError):
    """Wrong, with a reason that is worth saying."""


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    text = text if len(text) <= 40 else f"{text[:39]}…"
    return json.dumps(text, ensure_ascii=False) if isinstance(value, str) else text


# ---------------------------------------------------------------- scalars


def _boolean(value: Any) -> bool:
    found = {"true": True, "false": False, "1": True, "0": False}.get(str(value).strip().lower())
    if found is None:
        raise ValueError
    return found


def _whole(bits: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        number = _exact(value)
        if number != number.to_integral_value():
            raise _Unfit("it has a fraction")
        if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
            raise _Unfit("it is too large")
        return int(number)

    return read


def _exact(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise ValueError
    try:
        number = Decimal(repr(value) if isinstance(value, float) else str(value).strip())
    except InvalidOperation as e:
        raise ValueError from e
    if not number.is_finite() or number.adjusted() > 100:
        raise ValueError
    return number


def _decimal(value: Any, type_: DecimalType) -> Decimal:
    number = _exact(value)
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)  # finite
    while exponent < -type_.scale and digits and digits[-1] == 0:
        digits, exponent = digits[:-1], exponent + 1
    if digits and exponent < -type_.scale:
        raise _Unfit("it has too many digits after the point")
    if digits and digits != (0,) and len(digits) + exponent > type_.precision - type_.scale:
        raise _Unfit("it has too many digits")
    filled = (*digits, *(0,) * (exponent + type_.scale))
    return Decimal((sign, filled or (0,), -type_.scale))


def _double(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise ValueError
    return float(value)


def _string(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        raise ValueError
    return json_text(value, people=True)


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise ValueError
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as e:
        raise _Unfit("it is not base64") from e


def _date(value: Any) -> date:
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if isinstance(value, str) and not value.strip().lstrip("-").isdigit():
        return date.fromisoformat(value.strip())
    return _EPOCH.date() + timedelta(days=_whole(32)(value))


def _time(value: Any) -> time:
    if isinstance(value, time):
        return value
    if isinstance(value, str) and not value.strip().isdigit():
        return time.fromisoformat(value.strip())
    ms = _whole(32)(value)
    if not 0 <= ms < 86_400_000:
        raise _Unfit("a day has 86,400,000 milliseconds")
    return (_EPOCH + timedelta(milliseconds=ms)).time()


def _timestamp(value: Any) -> datetime:
    if isinstance(value, str) and not value.strip().lstrip("-").isdigit():
        value = datetime.fromisoformat(value.strip())
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return _EPOCH + timedelta(milliseconds=_whole(64)(value))


_SCALARS: Mapping[SqlType, Callable[[Any], Any]] = {
    BOOLEAN: _boolean,
    INTEGER: _whole(32),
    BIGINT: _whole(64),
    DOUBLE: _double,
    STRING: _string,
    BYTES: _bytes,
    DATE: _date,
    TIME: _time,
    TIMESTAMP: _timestamp,
}


# ---------------------------------------------------------------- nested


def _nested(value: Any, type_: SqlType) -> Any:
    if isinstance(value, str):
        try:
            value = json.loads(value, parse_float=Decimal)
        except ValueError as e:
            raise Misfit(f"{_shown(value)} is no {type_}: it is not JSON") from e
    match type_:
        case ArrayType(item) if isinstance(value, list | tuple):
            return [_within(f"[{i}]", v, item) for i, v in enumerate(value)]
        case MapType(key, item) if isinstance(value, dict | list):
            pairs = list(value.items()) if isinstance(value, dict) else value  # Parquet has lists of pairs
            if all(isinstance(p, tuple) and len(p) == 2 for p in pairs):
                return {convert(k, key): _within(f"[{k!r}]", v, item) for k, v in pairs}
        case StructType(fields) if isinstance(value, dict):
            given = {str(k).upper(): v for k, v in value.items()}
            return {n: _within(f"->{n}", value.get(n, given.get(n.upper())), t) for n, t in fields}
    raise Misfit(f"{_shown(value)} is no {type_}")


def _within(place: str, value: Any, type_: SqlType) -> Any:
    try:
        return convert(value, type_)
    except Misfit as e:
        raise Misfit(e.said, place + e.path) from e
