"""Writes values of Avro in Python, by the rules of ``AvroWriter.java``: one writer for each pair of schema and type."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from math import isnan, nan
from typing import Any

from ksqlpy.catalog import Schema
from ksqlpy.formats.java import cleaned
from ksqlpy.types import DOUBLE, STRING, ArrayType, DecimalType, MapType, SqlType, StructType

__all__ = ["writer_of"]


def writer_of(schema: Schema, type_: SqlType) -> Callable[[Any], bytes]:
    """What writes values of the type by the schema; raises ValueError where it cannot hold them."""
    import fastavro  # slow to import, and not needed by a server: records are written in the JVM

    known: dict[str, Any] = {}
    named: dict[str, Any] = {}
    for _, reference in schema.references:
        _note(json.loads(reference), "", known)
        fastavro.parse_schema(_raw(json.loads(reference)), named_schemas=named)
    whole = json.loads(schema.text)
    _note(whole, "", known)
    parsed = fastavro.parse_schema(_raw(whole), named_schemas=named)

    def write(value: Any) -> bytes:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, _given(whole, value, type_, known, ""))
        return out.getvalue()

    return write


def _raw(schema: Any) -> Any:
    """The schema without logical types: values are given as they lie in the bytes."""
    if isinstance(schema, list):
        return [_raw(s) for s in schema]
    if isinstance(schema, dict):
        parts = ("type", "items", "values", "fields")
        return {k: _raw(v) if k in parts else v for k, v in schema.items() if k != "logicalType"}
    return schema


def _note(schema: Any, space: str, known: dict[str, Any]) -> None:
    """Puts the named parts of a schema into ``known``, by their full names, with the namespace around them."""
    if isinstance(schema, list):
        for each in schema:
            _note(each, space, known)
    elif isinstance(schema, dict):
        if schema.get("type") in ("record", "enum", "fixed"):
            full = _full(schema["name"], schema.get("namespace", space))
            known[full] = schema
            space = full.rpartition(".")[0]
        for part in ("type", "items", "values", "fields"):
            _note(schema.get(part), space, known)


def _full(name: str, space: str | None) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def _given(schema: Any, value: Any, type_: SqlType, known: Mapping[str, Any], space: str) -> Any:
    """A value of a codec as fastavro writes it."""
    if isinstance(schema, list):
        others = [s for s in schema if s != "null"]
        return None if value is None or not others else _given(others[0], value, type_, known, space)
    if isinstance(schema, str) and _full(schema, space) in known:
        schema = known[_full(schema, space)]
    if value is None:
        raise ValueError("a value is null, which the schema of the records does not allow")
    kind = schema if isinstance(schema, str) else schema["type"]
    if isinstance(kind, dict | list):
        return _given(kind, value, type_, known, space)
    if kind in ("record", "enum", "fixed"):
        space = _full(schema["name"], schema.get("namespace", space)).rpartition(".")[0]
    match type_:
        case ArrayType(item):
            return [_given(schema["items"], v, item, known, space) for v in value]
        case MapType(_, item) if kind == "map":
            return {cleaned(k): _given(schema["values"], v, item, known, space) for k, v in value.items()}
        case MapType(_, item):
            entry = StructType((("key", STRING), ("value", item)))
            return [_given(schema["items"], {"key": k, "value": v}, entry, known, space) for k, v in value.items()]
        case StructType(fields):
            return _record(schema, value, dict(fields), known, space)
        case DecimalType():
            return _digits(value, schema.get("scale", 0), schema.get("size"))
    if type_ == STRING:
        return cleaned(value)
    if type_ == DOUBLE and isnan(value):
        return nan  # of many NaNs the one that Java writes
    return value


def _record(schema: Any, value: Any, types: Mapping[str, SqlType], known: Mapping[str, Any], space: str) -> Any:
    found = {}
    for field in schema["fields"]:
        name = field["name"]
        column = name if name in types else name.upper() if name.upper() in types else None
        nullable = isinstance(field["type"], list) and "null" in field["type"]
        if column is not None and value[column] is None and "default" in field and not nullable:
            continue  # the default is written
        if column is not None:
            found[name] = _given(field["type"], value[column], types[column], known, space)
        elif "default" not in field:
            if not nullable:
                raise ValueError(f"the schema of the records has a field {name} without a default, there is no column")
            found[name] = None
    return found


def _digits(number: Decimal, scale: int, size: int | None) -> bytes:
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    whole = int("".join(map(str, digits)) or "0") * int(10 ** (scale + exponent)) * (-1 if sign else 1)
    # As Java's BigInteger does: the fewest bytes that keep the sign.
    return whole.to_bytes(size or (whole if whole >= 0 else ~whole).bit_length() // 8 + 1, signed=True)
