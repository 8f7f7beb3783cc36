"""Reads values of Avro in Python, by the rules of ``AvroReader.java``: one reader for each pair of schema and type."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from ksqlpy.catalog import Schema
from ksqlpy.formats.avroschema import is_map
from ksqlpy.formats.contract import Unreadable
from ksqlpy.formats.java import cleaned, double_text, millis, type_text
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
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)

__all__ = ["reader_of"]

_DAY = 86_400_000  # milliseconds; allowed, as in ksqlDB

Take = Callable[[Any], Any]
"""Makes a value of a codec of what fastavro reads; raises Unreadable."""


def reader_of(written_by: Schema, number: int, type_: SqlType) -> Callable[[bytes], Any]:
    """What reads the bytes of a value that the schema of this number wrote, as one of the type.

    The result raises Unreadable, and takes nothing but the bytes behind the number.
    """
    import fastavro  # slow to import, and not needed by a server: records are read in the JVM

    schema = json.loads(written_by.text)
    known: dict[str, Any] = {}
    named: dict[str, Any] = {}
    for _, reference in written_by.references:
        fastavro.parse_schema(_raw(json.loads(reference), "", known), named_schemas=named)
    parsed = fastavro.parse_schema(_raw(schema, "", known), named_schemas=named)
    take = _take(schema, type_, "", known, "")

    def read(data: bytes) -> Any:
        stream = io.BytesIO(data)
        try:
            found = fastavro.schemaless_reader(stream, parsed, None, handle_unicode_errors="replace")
        except Exception as e:  # fastavro's are those of Python's containers, streams and numbers
            raise Unreadable(f"it ends too early, or is not what schema {number} describes") from e
        if stream.tell() != len(data):
            raise Unreadable(f"it ends too early, or is not what schema {number} describes")
        return take(found)

    return read


def _raw(schema: Any, space: str, known: dict[str, Any]) -> Any:
    """The schema without logical types; puts named ones into ``known``, by their full names."""
    if isinstance(schema, list):
        return [_raw(s, space, known) for s in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") in ("record", "enum", "fixed"):
        full = _full(schema["name"], schema.get("namespace", space))
        known[full] = schema
        space = full.rpartition(".")[0]
    found = {k: v for k, v in schema.items() if k not in ("logicalType", "precision", "scale", "default")}
    for part in ("type", "items", "values"):
        if part in found:
            found[part] = _raw(found[part], space, known)
    if "fields" in found:
        found["fields"] = [
            {"name": f["name"], "type": _raw(f["type"], space, known)} for f in schema["fields"]
        ]  # without what fastavro would check, or take for missing values
    return found


def _full(name: str, space: str | None) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def _take(schema: Any, type_: SqlType, place: str, known: Mapping[str, Any], space: str) -> Take:
    found = _made(schema, type_, place, known, space)
    if found is not None:
        return found
    said = f"{f'{place}: ' if place else ''}cannot read {_what(schema, known, space)} as {type_text(type_)}"

    def refuse(value: Any) -> Any:
        raise Unreadable(said)

    return refuse


def _resolved(schema: Any, known: Mapping[str, Any], space: str) -> Any:
    if isinstance(schema, str) and _full(schema, space) in known:
        return known[_full(schema, space)]
    if isinstance(schema, dict) and isinstance(schema.get("type"), dict | list):
        return _resolved(schema["type"], known, space)
    return schema


def _kind(schema: Any) -> str:
    return str(schema if isinstance(schema, str) else "union" if isinstance(schema, list) else schema["type"])


def _made(schema: Any, type_: SqlType, place: str, known: Mapping[str, Any], space: str) -> Take | None:
    schema = _resolved(schema, known, space)
    kind = _kind(schema)
    logical = schema.get("logicalType") if isinstance(schema, dict) else None
    if kind in ("record", "enum", "fixed"):
        space = _full(schema["name"], schema.get("namespace", space)).rpartition(".")[0]
    if kind == "union":
        others = [s for s in schema if s != "null"]
        if len(others) > 1:
            return None
        inner = _take(others[0], type_, place, known, space) if others else None
        return lambda v: None if v is None or inner is None else inner(v)
    match type_:
        case ArrayType(item):
            if kind != "array":
                return None
            of_item = _take(schema["items"], item, f"{place}[]", known, space)
            return lambda v: [of_item(each) for each in v]
        case MapType(_, item):
            return _map(schema, item, place, known, space)
        case StructType():
            return _record(schema, type_, place, known, space) if kind == "record" else None
        case DecimalType():
            return _decimal(schema, type_, place) if kind in ("bytes", "fixed") and logical == "decimal" else None
    return _scalar(kind, logical, type_, place)


def _scalar(kind: str, logical: str | None, type_: SqlType, place: str) -> Take | None:
    if type_ == STRING:
        return _text if kind in ("string", "enum", "int", "long", "float", "double", "boolean") else None
    plain: Mapping[SqlType, tuple[str, ...]] = {
        BOOLEAN: ("boolean",), INTEGER: ("int",), BIGINT: ("int", "long"), DOUBLE: ("float", "double"),
        BYTES: ("bytes", "fixed"),
    }  # fmt: skip
    if type_ in plain:
        return (lambda v: v) if kind in plain[type_] else None
    if type_ == DATE:
        return (lambda v: v) if kind == "int" and logical in (None, "date") else None
    if type_ == TIME:
        return _time(kind, logical, place)
    ms = (None, "timestamp-millis", "local-timestamp-millis")
    micros = ("timestamp-micros", "local-timestamp-micros")
    if kind != "long" or logical not in (*ms, *micros):
        return None

    def moment(value: int) -> int:
        try:
            return millis(value // 1000 if logical in micros else value)
        except ValueError:
            raise _wrong(place, value, "TIMESTAMP", "out of range") from None

    return moment


def _time(kind: str, logical: str | None, place: str) -> Take | None:
    micros = kind == "long" and logical == "time-micros"
    if not micros and not (kind == "int" and logical in (None, "time-millis")):
        return None

    def clock(value: int) -> int:
        found = value // 1000 if micros else value
        if not 0 <= found <= _DAY:
            raise _wrong(place, value, "TIME", "not a number of milliseconds within a day")
        return found

    return clock


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return double_text(value) if isinstance(value, float) else cleaned(str(value))


def _wrong(place: str, value: Any, type_: str, why: str) -> Unreadable:
    return Unreadable(f"{f'{place}: ' if place else ''}cannot read {value} as {type_}, {why}")


def _decimal(schema: Mapping[str, Any], type_: DecimalType, place: str) -> Take:
    scale = schema.get("scale", 0)

    def take(found: bytes) -> Decimal:
        number = Decimal(int.from_bytes(found, signed=True)).scaleb(-scale, ALL_DIGITS)
        fitting = number
        if scale != type_.scale:
            fitting = number.normalize(ALL_DIGITS) if number else Decimal(0)
            exponent = fitting.as_tuple().exponent
            assert isinstance(exponent, int)
            if -exponent > type_.scale:
                raise _wrong(place, format(number, "f"), str(type_), "too many digits after the point")
            fitting = fitting.quantize(Decimal(1).scaleb(-type_.scale), context=ALL_DIGITS)
        if fitting and len(fitting.as_tuple().digits) > type_.precision:
            raise _wrong(place, format(number, "f"), str(type_), "too many digits")
        return fitting

    return take


def _map(schema: Any, item: SqlType, place: str, known: Mapping[str, Any], space: str) -> Take | None:
    kind = _kind(schema)
    if kind == "map":
        inner = _take(schema["values"], item, f"{place}[]", known, space)
        return lambda v: {cleaned(k): inner(each) for k, each in v.items()}
    entry = _resolved(schema.get("items"), known, space) if kind == "array" else None
    if not isinstance(entry, dict) or not is_map({"items": entry}):
        return None
    fields = {f["name"]: f["type"] for f in entry["fields"]}
    inside = _full(entry["name"], entry.get("namespace", space)).rpartition(".")[0]
    if set(fields) != {"key", "value"} or _made(fields["key"], STRING, "", known, inside) is None:
        return None
    inner = _take(fields["value"], item, f"{place}[]", known, inside)

    def take(entries: Any) -> dict[str, Any]:
        found = {}
        for each in entries:
            value = inner(each["value"])
            if each["key"] is None:
                raise Unreadable(f"{f'{place}: ' if place else ''}a key of a map is null")
            found[_text(each["key"])] = value
        return found

    return take


def _record(schema: Any, type_: StructType, place: str, known: Mapping[str, Any], space: str) -> Take:
    columns = dict(type_.fields)
    names = {f["name"] for f in schema["fields"]}
    takers: list[tuple[str, str, Take]] = []
    for field in schema["fields"]:
        name = field["name"]
        upper = name.upper()
        to = name if name in columns else upper if upper in columns and upper not in names else None
        if to is not None:
            takers.append(
                (name, to, _take(field["type"], columns[to], f"{place}.{name}" if place else name, known, space))
            )

    def take(found: Mapping[str, Any]) -> dict[str, Any]:
        row: dict[str, Any] = dict.fromkeys(columns)
        for name, to, taker in takers:
            row[to] = taker(found[name])
        return row

    return take


def _what(schema: Any, known: Mapping[str, Any], space: str) -> str:
    kind = _kind(_resolved(schema, known, space))
    if kind == "union":
        return "a union of several types"
    if kind in ("bytes", "null"):
        return kind
    return f"{'an' if kind in ('int', 'array', 'enum') else 'a'} {kind}"
