"""Values of AVRO, JSON_SR and PROTOBUF as applications write and read them: by the schema in the registry alone.

Nothing of the codecs is used that the engine has: what these get wrong shows where both meet. Wire format: Confluent's,
a zero, the id of the schema in 4 bytes, in Protobuf the place of the message, then the value.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from typing import Any

from ksqlpy.errors import EngineProblem
from ksqlpy.formats.protofile import proto_file
from ksqlpy.registry import SchemaRegistry
from ksqlpy.types import ALL_DIGITS

__all__ = ["FORMATS", "Serializer"]

FORMATS = ("AVRO", "JSON_SR", "PROTOBUF")
"""The formats whose values it writes."""

_HEAD = 5
_FIRST = b"\0"
"""The place of the first message."""
_DECIMAL = "confluent.type.Decimal"

Columns = Mapping[str, Any]


class Serializer:
    """Writes columns by the latest schema of a topic's values, and reads them by the schema that a value names.

    Columns are by name; DECIMAL is Decimal. Needs no state but the schemas, which are asked for once.
    """

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self._writer = cache(self._writer_of)
        self._reader = cache(self._reader_of)

    def encode(self, topic: str, columns: Columns) -> bytes:
        """The value; raises EngineProblem ``unknown-schema`` where the topic has no schema of values."""
        return self._writer(topic)(columns)

    def decode(self, data: bytes) -> Columns:
        """The columns; raises ValueError for what is no such value, and EngineProblem ``unknown-schema``."""
        if data[:1] != b"\0" or len(data) < _HEAD:
            raise ValueError(f"no id of a schema is in front of {data[:20]!r}")
        return self._reader(int.from_bytes(data[1:_HEAD]))(data[_HEAD:])

    def _writer_of(self, topic: str) -> Callable[[Columns], bytes]:
        found = self._registry.latest(f"{topic}-value")
        if found is None:
            raise EngineProblem("unknown-schema", f"the schema registry has no schema of the values of {topic}")
        head = b"\0" + found.id.to_bytes(_HEAD - 1)
        if found.kind == "AVRO":
            return _avro_writer(found.text, head)
        if found.kind == "PROTOBUF":
            return _protobuf_writer(found.text, head + _FIRST)
        return lambda columns: head + json.dumps(columns, default=_number).encode()

    def _reader_of(self, number: int) -> Callable[[bytes], Columns]:
        found = self._registry.schema(number)
        if found is None:
            raise EngineProblem("unknown-schema", f"the schema registry has no schema {number}")
        if found.kind == "AVRO":
            return _avro_reader(found.text)
        if found.kind == "PROTOBUF":
            return _protobuf_reader(found.text)
        return lambda data: dict(json.loads(data, parse_float=Decimal))


def _number(value: object) -> float:
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"no JSON for {type(value).__name__}")


def _avro_writer(schema: str, head: bytes) -> Callable[[Columns], bytes]:
    import fastavro

    parsed = fastavro.parse_schema(json.loads(schema))

    doubles = {f["name"] for f in json.loads(schema)["fields"] if "double" in f["type"]}

    def write(columns: Columns) -> bytes:
        out = io.BytesIO()
        out.write(head)
        row = {n: float(v) if n in doubles and v is not None else v for n, v in columns.items()}
        fastavro.schemaless_writer(out, parsed, row)
        return out.getvalue()

    return write


def _avro_reader(schema: str) -> Callable[[bytes], Columns]:
    import fastavro

    parsed = fastavro.parse_schema(json.loads(schema))

    def read(data: bytes) -> Columns:
        found = fastavro.schemaless_reader(io.BytesIO(data), parsed, None)
        if not isinstance(found, dict):
            raise ValueError(f"the value is no record but {found!r}")
        return found

    return read


def _protobuf_writer(schema: str, head: bytes) -> Callable[[Columns], bytes]:
    from google.protobuf import message_factory

    make = message_factory.GetMessageClass(proto_file(schema).first())

    def write(columns: Columns) -> bytes:
        message = make()
        for name, value in columns.items():
            if value is None:
                continue
            kind = make.DESCRIPTOR.fields_by_name[name].message_type
            if kind is not None and kind.full_name == _DECIMAL:
                _set_decimal(getattr(message, name), Decimal(value))
            else:
                setattr(message, name, value)
        return head + bytes(message.SerializeToString())

    return write


def _protobuf_reader(schema: str) -> Callable[[bytes], Columns]:
    from google.protobuf import message_factory
    from google.protobuf.message import DecodeError

    make = message_factory.GetMessageClass(proto_file(schema).first())

    def read(data: bytes) -> Columns:
        if data[:1] != _FIRST:
            raise ValueError("it is not of the first message")
        try:
            message = make.FromString(data[1:])
        except DecodeError as e:
            raise ValueError("it is no message") from e
        return {field.name: _value(message, field) for field in make.DESCRIPTOR.fields}

    return read


def _value(message: Any, field: Any) -> Any:
    if field.has_presence and not message.HasField(field.name):
        return None
    value = getattr(message, field.name)
    if field.message_type is not None and field.message_type.full_name == _DECIMAL:
        return Decimal(int.from_bytes(value.value, signed=True)).scaleb(-value.scale, ALL_DIGITS)
    return list(value) if field.is_repeated else value


def _set_decimal(message: Any, value: Decimal) -> None:
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    unscaled = int(value.scaleb(scale, ALL_DIGITS))
    message.value = unscaled.to_bytes(unscaled.bit_length() // 8 + 1, signed=True)
    message.precision, message.scale = max(len(digits), scale), scale
