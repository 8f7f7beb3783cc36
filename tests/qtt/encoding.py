"""Records as cases write them to bytes, and bytes to what is compared, by the formats of a source."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ksqlpy.catalog import PartSpec, Source
from ksqlpy.formats.protofile import proto_file
from ksqlpy.formats.protoschema import schema_of
from ksqlpy.testing.records import Record
from ksqlpy.types import BIGINT, BYTES, DOUBLE, INTEGER, ArrayType, MapType, SqlType, StructType

from .cases import Window, Written, json_text
from .proto import from_proto, to_proto
from .schemas import Schemas

__all__ = ["Double", "Seen", "decoded", "encoded"]


class Double(Decimal):
    """A DOUBLE as JSON writes it: its digits count, but several texts stand for the same number."""


@dataclass(frozen=True)
class Seen:
    """A record of a topic as it is compared: trees of JSON, with Decimal for fractions and float for binary doubles."""

    key: Any
    value: Any
    time: int | None
    window: Window | None
    headers: tuple[tuple[str, bytes | None], ...]


# ---------------------------------------------------------------- to bytes


def encoded(
    written: Written, source: Source | None, headers: tuple[tuple[str, bytes | None], ...], schemas: Schemas
) -> Record:
    """The record that goes into the topic; without a source its key and value are JSON.

    Raises ValueError for a value that the format does not have.
    """
    key = _bytes(None if source is None else source.key, written.topic, "key", written.key, schemas)
    if written.window is not None and key is not None:
        w = written.window
        key += struct.pack(">q", w.start) if w.kind == "time" else struct.pack(">qq", w.end, w.start)
    value = _bytes(None if source is None else source.value, written.topic, "value", written.value, schemas)
    return Record(written.topic, key, value, written.time or 0, headers)


_NUMBERS = {INTEGER: ">i", BIGINT: ">q", DOUBLE: ">d"}


def _bytes(part: PartSpec | None, topic: str, which: str, value: Any, schemas: Schemas) -> bytes | None:
    if value is None:
        return None
    fmt = "JSON" if part is None else part.format
    if fmt in ("AVRO", "JSON_SR", "PROTOBUF"):
        return schemas.encoded(topic, which, value)
    if fmt == "PROTOBUF_NOSR":
        assert part is not None
        return to_proto(proto_file(schema_of(part)).first(), value)
    if fmt == "NONE":
        return None
    if fmt == "DELIMITED":
        return (value if isinstance(value, str) else json_text(value)).encode()
    if fmt != "KAFKA":
        return json_text(value).encode()
    assert part is not None
    # Other types than scalars are asked for, too, and are not there.
    code = _NUMBERS.get(part.columns[0].type) if part.columns else None  # type: ignore[call-overload]
    if code is None:
        return (value if isinstance(value, str) else json_text(value)).encode()
    try:
        return struct.pack(code, float(value) if code == ">d" else int(value))
    except (ValueError, struct.error) as e:
        raise ValueError(f"{value!r} is no {part.columns[0].type}") from e


# ---------------------------------------------------------------- from bytes


def decoded(record: Record, source: Source | None, schemas: Schemas) -> Seen:
    """What the bytes of a record say."""
    key, window = record.key, None
    if source is not None and source.window is not None and key is not None:
        session = source.window.kind == "SESSION"
        size = 16 if session else 8
        key, tail = key[:-size], key[-size:]
        if session and len(tail) == 16:
            end, start = struct.unpack(">qq", tail)
            window = Window(start, end, "session")
        elif len(tail) == 8:
            [start] = struct.unpack(">q", tail)
            window = Window(start, start + source.window.size, "time")
    return Seen(
        _tree(None if source is None else source.key, key, schemas),
        _tree(None if source is None else source.value, record.value, schemas),
        record.time,
        window,
        record.headers,
    )


def _tree(part: PartSpec | None, data: bytes | None, schemas: Schemas) -> Any:
    if data is None:
        return None
    fmt = "JSON" if part is None else part.format
    if fmt == "JSON_SR" and part is not None:  # ksqlDB's suite compares these by type, not by digits
        return _doubles(schemas.decoded(data), part, float)
    if fmt in ("AVRO", "JSON_SR", "PROTOBUF"):
        return schemas.decoded(data)
    if fmt == "PROTOBUF_NOSR" and part is not None:
        return from_proto(proto_file(schema_of(part)).first(), data)
    if fmt == "KAFKA" and part is not None and part.columns:
        type_ = part.columns[0].type
        # As above.
        code = _NUMBERS.get(type_)  # type: ignore[call-overload]
        if code is not None and len(data) == struct.calcsize(code):
            return struct.unpack(code, data)[0]
        if type_ == BYTES:
            return data
    text = data.decode(errors="backslashreplace")
    if fmt != "JSON":
        return text
    try:
        tree = json.loads(text, parse_float=Decimal)
    except ValueError:
        return f"not JSON: {text}"
    return tree if part is None else _doubles(tree, part, Double)


def _doubles(tree: Any, part: PartSpec, kind: type[float] | type[Double]) -> Any:
    """The tree with the numbers of DOUBLE columns, at any depth, as this kind."""
    types = {c.name: c.type for c in part.columns}
    if isinstance(tree, dict) and not part.bare:
        return {n: _with_doubles(v, types.get(n), kind) for n, v in tree.items()}
    return _with_doubles(tree, next(iter(types.values()), None), kind)


def _with_doubles(tree: Any, type_: SqlType | None, kind: type[float] | type[Double]) -> Any:
    match type_:
        case ArrayType() if isinstance(tree, list):
            return [_with_doubles(v, type_.item, kind) for v in tree]
        case MapType() if isinstance(tree, dict):
            return {n: _with_doubles(v, type_.value, kind) for n, v in tree.items()}
        case StructType() if isinstance(tree, dict):
            fields = dict(type_.fields)
            return {n: _with_doubles(v, fields.get(n), kind) for n, v in tree.items()}
    return kind(tree) if type_ == DOUBLE and isinstance(tree, Decimal) else tree
