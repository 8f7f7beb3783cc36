"""Rows as JSON objects, to be inserted: each value is brought to what its column is, as INSERT VALUES does.

A usual row, whose values are of the very kinds of their columns, is read quickly; any other one is read again with all
digits of its numbers, and by the rules that literals have. Source of the rules: ksqlDB, streaming inserts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Decimal, DecimalException
from math import isfinite
from typing import Any, NoReturn

import orjson

from ksqlpy.analysis.constants import check_text, constant_of
from ksqlpy.analysis.scope import Text
from ksqlpy.catalog import Source
from ksqlpy.errors import AnalysisProblem, shown, similar_names
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
    StructType,
)

__all__ = ["JsonRows"]

ROWTIME = "ROWTIME"

_KINDS: Mapping[SqlType, tuple[type, int]] = {
    BOOLEAN: (bool, 0),
    INTEGER: (int, 2**31),
    BIGINT: (int, 2**63),
    STRING: (str, 0),
}
"""What a usual value of a type is in JSON; of whole numbers, the first one that it does not hold."""

_SHAPES = 64
"""So many orders of names are remembered."""
_MOST_DIGITS = 1000
"""Digits that a number may have when it is written out."""
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,6})?\s*", re.ASCII)

_Taken = tuple[str, int, Any, int, SqlType]
"""Name in the row, index of the column (-1: ROWTIME), type and limit of a usual value, type of the column."""


class _Inexact(Exception):
    """A number has lost digits: the row is to be read again."""


class JsonRows:
    """Reads rows for a source. Not to be used by two threads at one time."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._columns = source.written
        self._indexes = {c.name: i for i, c in enumerate(self._columns)}
        self._keys = [i for i, c in enumerate(self._columns) if c.key] if source.kind == "TABLE" else []
        self._shapes: dict[tuple[str, ...], list[_Taken]] = {}

    def read(self, line: bytes) -> tuple[list[Any], int | None]:
        """The values of the columns that records are made of, as codecs have them, and the time if the row gives it.

        Raises AnalysisProblem.
        """
        found = None
        try:
            row = orjson.loads(line)
            if type(row) is dict:
                found = self._quickly(row)
        except (orjson.JSONDecodeError, _Inexact):
            pass
        values, time = found or self._exactly(line)
        for index in self._keys:
            if values[index] is None:
                names = ", ".join(self._columns[i].name for i in self._keys if values[i] is None)
                raise AnalysisProblem("no-key", f"a record of a table needs its key: {names}")
        return values, time

    def _quickly(self, row: dict[str, Any]) -> tuple[list[Any], int | None]:
        values: list[Any] = [None] * (len(self._columns) + 1)  # the last one is ROWTIME
        for name, index, kind, beyond, type_ in self._taken(tuple(row)):
            value = row[name]
            if value is None:
                continue
            if type(value) is not kind or (beyond and not -beyond <= value < beyond):
                value = _value(value, type_, name) if index >= 0 else _time_of_record(value, name)
            values[index] = value
        time = values.pop()
        return values, time

    def _exactly(self, line: bytes) -> tuple[list[Any], int | None]:
        try:
            row = json.loads(line.decode(), parse_float=Decimal, parse_constant=_no_constant)
        except (ValueError, RecursionError, DecimalException) as e:
            reason = "it is nested too deeply" if isinstance(e, RecursionError) else str(e)
            raise AnalysisProblem("bad-row", f"the row is not JSON: {reason}") from e
        if not isinstance(row, dict):
            hint = "send an object of columns and their values, on one line"
            raise AnalysisProblem("bad-row", f"a row is a JSON object, not {shown(row)}", hint=hint)
        return self._quickly(row)

    def _taken(self, names: tuple[str, ...]) -> list[_Taken]:
        """How a row with these names is read."""
        found = self._shapes.get(names)
        if found is None:
            found = self._shape(names)
            if len(self._shapes) >= _SHAPES:
                self._shapes.clear()
            self._shapes[names] = found
        return found

    def _shape(self, names: tuple[str, ...]) -> list[_Taken]:
        taken: list[_Taken] = []
        seen: set[int] = set()
        for name in names:
            known = _meant(name, {**self._indexes, ROWTIME: -1})
            if known is None:
                self._refuse(name)
            index = -1 if known == ROWTIME and ROWTIME not in self._indexes else self._indexes[known]
            if index in seen:
                raise AnalysisProblem("duplicate-column", f"column {known} is named twice")
            seen.add(index)
            type_ = BIGINT if index < 0 else self._columns[index].type
            kind, beyond = _KINDS.get(type_, (None, 0))
            taken.append((name, index, kind, beyond, type_))
        return taken

    def _refuse(self, name: str) -> NoReturn:
        source = self._source
        if _meant(name, {c.name: 0 for c in source.headers}) is not None:
            raise AnalysisProblem("header-columns", f"{name} holds headers, which are not inserted")
        similar = similar_names(name, [c.name for c in self._columns])
        raise AnalysisProblem("unknown-column", f"{source.name} has no column {shown(name)}", similar=similar)


def _meant(name: str, known: Mapping[str, object]) -> str | None:
    """The name, of these, that a name of a row means: without quotes upper and lower case are the same."""
    if len(name) > 1 and name[0] == name[-1] and name[0] in '`"':
        exact = name[1:-1].replace(name[0] * 2, name[0])
        return exact if exact in known else None
    return next((n for n in (name.upper(), name) if n in known), None)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _value(value: Any, type_: SqlType, place: str) -> Any:
    """A value of JSON as codecs have it; ``place``: what it is called. Raises AnalysisProblem, _Inexact."""
    if value is None:
        return None
    match type_:
        case ArrayType(item) if isinstance(value, list):
            return [_value(v, item, f"{place}[{i}]") for i, v in enumerate(value, 1)]
        case MapType(key, item) if isinstance(value, dict):
            return {_value(k, key, f"a key of {place}"): _value(v, item, f"{place}[{k!r}]") for k, v in value.items()}
        case StructType(fields) if isinstance(value, dict):
            return _struct(value, dict(fields), place)
        case DecimalType():
            return _decimal(value, type_, place)
    reader = _READERS.get(type_)
    if reader is None:
        _mismatch(value, type_, place)
    return reader(value, type_, place)


def _time_of_record(value: Any, place: str) -> int:
    """Milliseconds, or a text of a TIMESTAMP; raises as :func:`_value`."""
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        found = _constant(value, TIMESTAMP, place)
        assert isinstance(found, int)
        return found
    return _whole(value, BIGINT, place)


def _struct(value: Mapping[str, Any], types: Mapping[str, SqlType], place: str) -> dict[str, Any]:
    found: dict[str, Any] = dict.fromkeys(types)
    for name, inner in value.items():
        known = _meant(name, types)
        if known is None:
            similar = similar_names(name, types)
            raise AnalysisProblem("unknown-column", f"{place} has no field {shown(name)}", similar=similar)
        found[known] = _value(inner, types[known], f"{place}->{known}")
    return found


def _number(value: Any, type_: SqlType, place: str) -> int | Decimal:
    """A number, or a text that is one, with all its digits."""
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value) or len(value) > _MOST_DIGITS:
            said = f"column {place}: {shown(value)} is no number, and one is wanted here"
            raise AnalysisProblem("invalid-number", said)
        return Decimal(value.strip())
    if isinstance(value, float):
        raise _Inexact
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        _mismatch(value, type_, place)
    return value


def _whole(value: Any, type_: SqlType, place: str) -> int:
    number = _number(value, type_, place)
    beyond = _KINDS[type_][1]
    if isinstance(number, Decimal):
        if number.adjusted() < 40 and number != number.to_integral_value():
            _mismatch(value, type_, place)
        if number.adjusted() >= 40:
            _too_large(number, type_, place)
        number = int(number)
    if not -beyond <= number < beyond:
        _too_large(number, type_, place)
    return number


def _double(value: Any, type_: SqlType, place: str) -> float:
    # In JSON a number has no sign of zero that anybody means.
    number = value if isinstance(value, float) else _number(value, type_, place)
    try:
        found = float(number) + 0.0
    except OverflowError:
        _too_large(number, type_, place)
    if not isfinite(found):
        _too_large(number, type_, place)
    return found


def _decimal(value: Any, type_: DecimalType, place: str) -> Decimal:
    number = Decimal(_number(value, type_, place))
    try:
        rounded = number.quantize(Decimal(1).scaleb(-type_.scale), ROUND_HALF_UP, ALL_DIGITS)
    except DecimalException:
        _too_large(number, type_, place)
    if abs(rounded) >= Decimal(1).scaleb(type_.precision - type_.scale):
        _too_large(number, type_, place)
    return rounded if rounded else abs(rounded)


def _string(value: Any, type_: SqlType, place: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    number = _number(value, type_, place)
    if isinstance(number, Decimal):
        if abs(number.adjusted()) > _MOST_DIGITS:
            _too_large(number, type_, place)
        return f"{number:f}"
    return str(number)


def _boolean(value: Any, type_: SqlType, place: str) -> bool:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word and any(w.startswith(word) for w in ("true", "yes", "false", "no")):
        return "true".startswith(word) or "yes".startswith(word)
    _mismatch(value, type_, place)


def _constant(value: Any, type_: SqlType, place: str) -> int | bytes:
    if not isinstance(value, str):
        _mismatch(value, type_, place)
    found = constant_of(value, type_)
    if found is None:
        try:
            check_text(value, type_, None, Text(""))
        except AnalysisProblem as e:
            raise AnalysisProblem(e.code, f"column {place}: {e.message}", hint=e.hint) from e
    assert found is not None
    return found


_READERS: Mapping[SqlType, Callable[[Any, SqlType, str], Any]] = {
    BOOLEAN: _boolean,
    INTEGER: _whole,
    BIGINT: _whole,
    DOUBLE: _double,
    STRING: _string,
    BYTES: _constant,
    DATE: _constant,
    TIME: _constant,
    TIMESTAMP: _constant,
}


def _mismatch(value: Any, type_: SqlType, place: str) -> NoReturn:
    kind = "an object" if isinstance(value, dict) else "an array" if isinstance(value, list) else shown_value(value)
    raise AnalysisProblem("wrong-type", f"column {place} is {type_}, the value is {kind}")


def _too_large(value: int | float | Decimal, type_: SqlType, place: str) -> NoReturn:
    hint = f"give a value that {type_} holds, or null"
    raise AnalysisProblem("number-too-large", f"{shown_value(value)} does not fit column {place} {type_}", hint=hint)


def shown_value(value: Any) -> str:
    """A scalar as JSON has it, cut where it is long."""
    text = str(value) if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
