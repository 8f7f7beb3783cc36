"""Format JSON: a record is an object of its columns, a bare column a value."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from math import isfinite
from typing import Any

import orjson

from ksqlpy.catalog import PartSpec
from ksqlpy.formats import text
from ksqlpy.formats.contract import Codec, Format, Unreadable, Written
from ksqlpy.formats.java import (
    LONGEST_NUMBER,
    Misfit,
    big_decimal,
    brief,
    cleaned,
    decimal_of,
    decimal_text,
    double_of,
    double_text,
    millis,
    units,
    whole_of,
    wrapped,
)
from ksqlpy.formats.jsontree import Broken, HalfPair, NotJson, Number, Pairs, json_string, tree
from ksqlpy.formats.jsontypes import type_of_texts
from ksqlpy.formats.jvm import jvm_reader
from ksqlpy.functions.sparktext import json_fields, json_text, plain_in_json
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

__all__ = ["JSON", "json_object"]


class _Json(Format):
    name = "JSON"
    about = "an object of the columns; numbers may stand as text, and anything can be read as STRING"
    signs_zero = False

    def sampled(self, records: Sequence[bytes]) -> SqlType | None:
        """The type that all JSON texts fit."""
        return type_of_texts(records)

    def reader(self, spec: PartSpec, data: str) -> str:
        """``JsonReader.java``."""
        return jvm_reader(self.name, spec, data)

    def writer(self, spec: PartSpec, columns: Sequence[Written]) -> str:
        """The object with all columns, nulls written out; or the value, null for a bare null."""
        if not spec.bare:
            return f"cast({json_object(columns)} as binary)"
        [column] = columns
        written = json_text(_spark_value(column.value, column.type), column.type)
        return f"case when {column.value} is not null then cast({written} as binary) end"

    def codec(self, spec: PartSpec) -> Codec:
        """The same in Python."""
        return _JsonCodec(spec)

    def comparable(self, spec: PartSpec, data: bytes) -> object:
        """The value with its names in order; numbers by their digits, of DOUBLE by the number."""
        types: SqlType = _record(spec) if not spec.bare else spec.columns[0].type
        try:
            value = json.loads(data, parse_float=Number, parse_int=Number, parse_constant=Number)
        except ValueError:
            return data
        return json.dumps(_comparable(value, types), sort_keys=True)


JSON = _Json()


def _record(spec: PartSpec) -> StructType:
    return StructType(tuple((c.name, c.type) for c in spec.columns))


def _comparable(value: Any, type_: SqlType | None) -> Any:
    if isinstance(value, Number):
        return {"number": repr(float(value)) if type_ == DOUBLE else str(value)}
    if isinstance(value, dict):
        if isinstance(type_, StructType):
            return {k: _comparable(v, type_.field(k)) for k, v in value.items()}
        return {k: _comparable(v, type_.value if isinstance(type_, MapType) else None) for k, v in value.items()}
    if isinstance(value, list):
        return [_comparable(v, type_.item if isinstance(type_, ArrayType) else None) for v in value]
    return value


# ---------------------------------------------------------------- Spark

_KEEP_NULLS = "map('ignoreNullFields', 'false')"


def json_object(columns: Sequence[Written]) -> str:
    """Spark SQL text of the JSON object with all columns, nulls written out."""
    if not all(plain_in_json(c.type) for c in columns):
        return json_fields([(c.name, json_text(_spark_value(c.value, c.type), c.type)) for c in columns])
    fields = ", ".join(f"{text.string(c.name)}, {_spark_value(c.value, c.type)}" for c in columns)
    return f"to_json(named_struct({fields}), {_KEEP_NULLS})"


def _spark_value(value: str, t: SqlType) -> str:
    """The value as Spark's to_json writes it right: DATE as days, TIMESTAMP as ms, also inside of other types."""
    if not _needs_change(t):
        return value
    match t:
        case ArrayType(item):
            return f"transform({value}, x -> {_spark_value('x', item)})"
        case MapType(_, item):
            return f"transform_values({value}, (k, x) -> {_spark_value('x', item)})"
        case StructType(fields):
            inner = ", ".join(
                f"{text.string(n)}, {_spark_value(text.field(value, i), f)}" for i, (n, f) in enumerate(fields)
            )
            return f"case when {value} is not null then named_struct({inner}) end"
    return text.number(value, t)


def _needs_change(t: SqlType) -> bool:
    if isinstance(t, ArrayType):
        return _needs_change(t.item)
    if isinstance(t, MapType):
        return _needs_change(t.value)
    if isinstance(t, StructType):
        return any(_needs_change(f) for _, f in t.fields)
    return t in (DATE, TIMESTAMP)


# ---------------------------------------------------------------- Python

_KINDS: Mapping[SqlType, tuple[type, int]] = {
    BOOLEAN: (bool, 0),
    INTEGER: (int, 2**31),
    BIGINT: (int, 2**63),
    DOUBLE: (float, 0),
    STRING: (str, 0),
}
"""What a usual value of a type is in JSON; of whole numbers, the first one that it does not hold."""
_USUAL = 4096
"""Bytes of a usual text."""
_DAY = 86_400_000  # milliseconds; allowed, as in ksqlDB
_MOST_DIGITS = 1000
_BASE64 = re.compile(r"(?:[\x00-\x20]*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==))*[\x00-\x20]*")
_BASE64_GROUP = re.compile(r"[A-Za-z0-9+/=]{4}")

Path = tuple[str | int, ...]
"""Names and indexes that lead to a value."""


class _JsonCodec:
    def __init__(self, spec: PartSpec) -> None:
        self._bare = spec.bare
        self._type: SqlType = spec.columns[0].type if spec.bare else _record(spec)
        self._names = [c.name for c in spec.columns]
        # Names of objects are escaped in two ways, by what writes them in Spark.
        self._plain = all(plain_in_json(c.type) for c in spec.columns)
        # What stands ahead of each value in an object of all columns, and how the value is written.
        self._begins = [json_string(n) if self._plain else json.dumps(n, ensure_ascii=False) for n in self._names]
        self._writers = [_writer(c.type, self._plain or plain_in_json(c.type)) for c in spec.columns]
        self._quick: dict[str, tuple[type, int]] | None = None
        apart = all(n.upper() == n or n.upper() not in self._names for n in self._names)
        if spec.columns and apart and all(c.type in _KINDS for c in spec.columns):
            self._quick = {c.name: _KINDS[c.type] for c in spec.columns}

    def decode(self, data: bytes | None) -> tuple[Any, ...] | None:
        if data is None:
            return None
        if self._quick is not None and len(data) < _USUAL and (found := self._quickly(data, self._quick)) is not None:
            return found
        value = _value(tree(data), self._type, ())
        if value is None:
            return None
        return (value,) if self._bare else tuple(value[n] for n in self._names)

    def _quickly(self, data: bytes, kinds: Mapping[str, tuple[type, int]]) -> tuple[Any, ...] | None:
        """What a usual text holds: the columns by their very names, each of its own kind; None of any other."""
        try:
            found = orjson.loads(data)
        except orjson.JSONDecodeError:
            return None
        if self._bare:
            found = {self._names[0]: found}
        elif type(found) is not dict or not found.keys() <= kinds.keys():
            return None
        out = []
        for name, (kind, beyond) in kinds.items():
            value = found.get(name)
            if value is None:
                if self._bare:
                    return None
            elif kind is int:
                if type(value) is not int or not -beyond <= value < beyond:
                    return None
            elif kind is float:
                if type(value) is not float and type(value) is not int:
                    return None
                value = float(value) + 0.0
            elif type(value) is not kind:
                return None
            out.append(value)
        return tuple(out)

    def encode(self, values: Sequence[Any] | None) -> bytes | None:
        if values is None or (self._bare and values[0] is None):
            return None
        if self._bare:
            return _written(values[0], self._type, plain_in_json(self._type)).encode()
        fields = zip(self._begins, self._writers, values, strict=True)
        return f"{{{','.join([f'{n}:null' if v is None else f'{n}:{write(v)}' for n, write, v in fields])}}}".encode()


def _writer(type_: SqlType, plain: bool) -> Callable[[Any], str]:
    """As :func:`_written`, of values that are not null."""
    if type_ == STRING:
        return _string_written
    if type_ in (INTEGER, BIGINT):
        return str
    return partial(_written, type_=type_, plain=plain)


def _string_written(value: str) -> str:
    return json_string(cleaned(value))


def _written(value: Any, type_: SqlType, plain: bool) -> str:
    """The value as JSON; ``plain``: Spark writes the whole with its to_json, which escapes names as other texts."""
    if value is None:
        return "null"
    match type_:
        case ArrayType(item):
            return f"[{','.join(_written(v, item, plain or plain_in_json(item)) for v in value)}]"
        case MapType(_, item):
            inside = plain or plain_in_json(item)
            return f"{{{','.join(f'{json_string(cleaned(k))}:{_written(v, item, inside)}' for k, v in value.items())}}}"
        case StructType(fields):
            parts = []
            for name, t in fields:
                key = json_string(name) if plain else json.dumps(name, ensure_ascii=False)
                parts.append(f"{key}:{_written(value[name], t, plain or plain_in_json(t))}")
            return f"{{{','.join(parts)}}}"
        case DecimalType():
            return decimal_text(value)
    if type_ == STRING:
        return json_string(cleaned(value))
    if type_ == BYTES:
        return f'"{base64.b64encode(value).decode()}"'
    if type_ == BOOLEAN:
        return "true" if value else "false"
    if type_ == DOUBLE:
        return double_text(value) if isfinite(value) else f'"{double_text(value)}"'
    return str(value)


def _value(found: Any, type_: SqlType, path: Path) -> Any:
    """The value of a tree as one of the type; raises Unreadable."""
    if found is None:
        return None
    if isinstance(found, Broken | HalfPair):
        raise found.error
    try:
        match type_:
            case ArrayType(item):
                if isinstance(found, list) and not isinstance(found, Pairs):
                    return [_value(v, item, (*path, i)) for i, v in enumerate(found)]
                raise Misfit
            case MapType(_, item):
                if isinstance(found, Pairs):
                    return {cleaned(n): _value(v, item, (*path, n)) for n, v in found}
                raise Misfit
            case StructType():
                if isinstance(found, Pairs):
                    return _struct(found, type_, path)
                raise Misfit
            case DecimalType():
                return decimal_of(_exact(found), type_)
        return _scalar(found, type_, path)
    except Misfit as e:
        raise _unreadable(found, type_, path, str(e)) from None


def _struct(found: Pairs, type_: StructType, path: Path) -> dict[str, Any]:
    """Each name goes to the field of its name, and to the one whose name it is in upper case (``Type.java``)."""
    values: dict[str, Any] = dict.fromkeys(n for n, _ in type_.fields)
    types = dict(type_.fields)
    exact: set[str] = set()
    problems: dict[str, Unreadable] = {}
    for name, value in found:
        upper = name.upper()
        takers = [name] if name in types else []
        if upper in types and upper != name and upper not in exact:
            takers.append(upper)
        for taker in takers:
            if taker == name:
                exact.add(name)
            problems.pop(taker, None)
            try:
                values[taker] = _value(value, types[taker], (*path, name))
            except NotJson:
                raise
            except Unreadable as e:
                problems[taker] = e
        if (broken := Broken.within(value)) is not None:  # a value is read to its end, whatever it is
            raise broken.error
    for name in types:
        if name in problems:
            raise problems[name]
    return values


def _scalar(found: Any, type_: SqlType, path: Path) -> Any:
    if type_ == STRING:
        return _string(found, path)
    if type_ == BOOLEAN:
        if isinstance(found, bool):
            return found
        raise Misfit
    if type_ == BYTES:
        if not isinstance(found, str) or isinstance(found, Number):
            raise Misfit
        if not _BASE64.fullmatch(found):
            raise Misfit("not base64")
        return b"".join(base64.b64decode(group) for group in _BASE64_GROUP.findall(found))
    if type_ == DOUBLE:
        if isinstance(found, Number):
            return float(found) + 0.0  # ksqlDB knows no -0.0 here: it goes through BigDecimal
        if isinstance(found, str):
            return double_of(found)
        raise Misfit
    if type_ == INTEGER:
        text_ = isinstance(found, str) and not isinstance(found, Number)
        return whole_of(found, 32) if text_ else wrapped(_whole(found), 32)
    number = _whole(found)
    if type_ == DATE and not -(2**31) <= number < 2**31:
        raise Misfit("out of range")
    if type_ == TIME and not 0 <= number <= _DAY:
        raise Misfit("not a number of milliseconds within a day")
    return millis(number) if type_ == TIMESTAMP else number


def _whole(found: Any) -> int:
    """A whole number of 64 bits: a fraction is cut off, higher bits too."""
    if isinstance(found, Number):
        if found.whole:
            return wrapped(int(found), 64)
        exact = _exact(found)
        digits = exact.adjusted() + 1
        if not exact or digits <= 0:
            return 0
        if digits > _MOST_DIGITS:
            raise Misfit("out of range")
        return wrapped(int(exact), 64)
    if isinstance(found, str):
        return whole_of(found, 64)
    raise Misfit


def _exact(found: Any) -> Decimal:
    """A number with all its digits."""
    if isinstance(found, Number):
        try:
            return big_decimal(found)
        except Misfit:
            raise Misfit("out of range") from None
    if isinstance(found, str):
        if units(found) > LONGEST_NUMBER:
            raise Misfit("too long for a number")
        return big_decimal(found)
    raise Misfit


def _string(found: Any, path: Path) -> str:
    if isinstance(found, Number):
        return found.digits if found.whole else str(_exact(found))
    if isinstance(found, str):
        return cleaned(found)
    if isinstance(found, bool):
        return "true" if found else "false"
    return cleaned("".join(_pieces(found, path)))


def _pieces(found: Any, path: Path) -> list[str]:
    """The pieces of the text of a tree, as Jackson writes a tree; not recursive, since it may be deep."""
    out: list[str] = []
    left: list[tuple[Any, Path]] = [(found, path)]
    while left:
        value, at = left.pop()
        if isinstance(value, Broken | HalfPair):
            raise value.error
        if isinstance(value, _Piece):
            out.append(value)
        elif isinstance(value, Pairs):
            last = dict(value)  # of a name that comes twice the last value, in the first place
            if len(last) < len(value):
                _check(value, at)
            inside = list(last.items())
            left.append((_Piece("}"), at))
            for i, (n, v) in reversed(list(enumerate(inside))):
                left.append((v, (*at, n)))
                left.append((_Piece(("," if i else "") + json_string(n) + ":"), at))
            left.append((_Piece("{"), at))
        elif isinstance(value, list):
            left.append((_Piece("]"), at))
            for i, v in reversed(list(enumerate(value))):
                left.append((v, (*at, i)))
                if i:
                    left.append((_Piece(","), at))
            left.append((_Piece("["), at))
        elif isinstance(value, Number):
            try:
                out.append(value.digits if value.whole else str(_exact(value)))
            except Misfit as e:
                raise _unreadable(value, STRING, at, str(e)) from None
        elif isinstance(value, str):
            out.append(json_string(value))
        else:
            out.append("null" if value is None else "true" if value else "false")
    return out


def _check(found: Any, path: Path) -> None:
    """Raises Unreadable for what cannot be read in a tree, also in values that others replace."""
    left: list[tuple[Any, Path]] = [(found, path)]
    while left:
        value, at = left.pop()
        if isinstance(value, Broken | HalfPair):
            raise value.error
        if isinstance(value, Pairs):
            left += [(v, (*at, n)) for n, v in reversed(value)]
        elif isinstance(value, list):
            left += [(v, (*at, i)) for i, v in reversed(list(enumerate(value)))]
        elif isinstance(value, Number) and not value.whole:
            try:
                _exact(value)
            except Misfit as e:
                raise _unreadable(value, STRING, at, str(e)) from None


class _Piece(str):
    """What is written already."""


def _unreadable(found: Any, type_: SqlType, path: Path, why: str) -> Unreadable:
    """Names the place of a value by the names in the text: ``ORDER.items[2].price``."""
    if isinstance(found, Pairs):
        what = "an object"
    elif isinstance(found, list):
        what = "an array"
    elif isinstance(found, bool):
        what = "true" if found else "false"
    else:
        what = brief(found) if isinstance(found, Number) else f'"{brief(found)}"'
    place = "".join(f"[{p}]" if isinstance(p, int) else f".{brief(p)}" for p in path).removeprefix(".")
    said = f"{place}: " if place else ""
    return Unreadable(cleaned(f"{said}cannot read {what} as {_shown(type_)}{why and f', {why}'}"))


def _shown(type_: SqlType) -> str:
    """A type as the readers in the JVM call it (``Type.java``)."""
    match type_:
        case ArrayType(item):
            return f"ARRAY<{_shown(item)}>"
        case MapType(_, item):
            return f"MAP<STRING, {_shown(item)}>"
        case StructType():
            return "STRUCT"
    return str(type_)
