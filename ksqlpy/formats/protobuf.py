"""Formats PROTOBUF and PROTOBUF_NOSR: messages of Protocol Buffers, with and without a schema registry."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from ksqlpy.catalog import Column, PartSpec
from ksqlpy.formats import text
from ksqlpy.formats.contract import (
    DECLARED,
    RECORDS,
    Codec,
    Format,
    Limits,
    Refusal,
    SchemaProperties,
    Unreadable,
    Which,
)
from ksqlpy.formats.contract import Written as WrittenColumn
from ksqlpy.formats.json import JSON
from ksqlpy.formats.jvm import described, jvm_reader
from ksqlpy.formats.names import misnamed
from ksqlpy.formats.protofile import ProtoFile, proto_file
from ksqlpy.formats.protoread import reader_of
from ksqlpy.formats.protoschema import nested, root_of, schema_of, type_of
from ksqlpy.formats.protowrite import writer_of
from ksqlpy.formats.subjects import AHEAD, Subjects, in_upper_case, registered_as, schema_id
from ksqlpy.registry import Registered, SchemaRegistry
from ksqlpy.types import SqlType, StructType

__all__ = ["PROTOBUF", "PROTOBUF_NOSR", "Lookup", "place_of", "placed"]

Lookup = Callable[[int], ProtoFile]
"""The messages of the schema of an id; raises Unreadable."""


def _schema_of(spec: PartSpec, which: Which, source: str | None) -> str:
    return schema_of(spec)  # the messages of keys and values have the same names


def _type_of(found: Registered, given: SchemaProperties) -> SqlType:
    file = proto_file(found.text, found.references)
    main = file.chief if given.of_query else file.only
    type_ = type_of(main() if given.name is None else file.named(given.name))
    return type_ if given.id is not None else in_upper_case(type_)


class _Messages(Format):
    limits = Limits(wraps=RECORDS)
    has_nulls = False
    names_records = True

    def refusal(self, which: Which, columns: Sequence[Column]) -> Refusal | None:
        """Also names that Protobuf does not take, and lists of lists."""
        found = super().refusal(which, columns)
        if found is not None:
            return found
        odd = misnamed(columns)
        if odd is not None:
            said = f"format {self.name} takes names of letters, digits and _ only: {odd}"
            return Refusal(said, "give it another name")
        for c in columns:
            inner = nested(c.type)
            if inner is not None:
                said = f"format {self.name} has no {inner} within an ARRAY or MAP: column {c.name}"
                return Refusal(said, "put it into a STRUCT")
        return None

    def reader(self, spec: PartSpec, data: str) -> str:
        """``ProtobufReader.java``."""
        return jvm_reader("PROTOBUF", spec, data, **self._read_by(spec))

    def writer(self, spec: PartSpec, columns: Sequence[WrittenColumn]) -> str:
        """``ProtobufWriter.java``; raises EngineProblem ``unregistered-schema``."""
        about = {"write": "PROTOBUF", **self._written_by(spec), **described(spec)}
        fields = ", ".join(f"{text.string(c.name)}, {c.value}" for c in columns)
        return f"ksqlpy.{text.name(json.dumps(about, separators=(',', ':')))}(named_struct({fields}))"

    def _read_by(self, spec: PartSpec) -> Mapping[str, str]:
        return {}

    def _written_by(self, spec: PartSpec) -> Mapping[str, Any]:
        chosen = spec.schema
        if chosen is None:
            return {"text": schema_of(spec), "message": root_of(spec)}
        references = [reference for _, reference in chosen.references]
        return {"text": chosen.text, "references": references, "message": _message(spec).full_name}

    def to_text(self, spec: PartSpec, data: bytes) -> str | None:
        """The value in JSON; None for what another schema wrote."""
        try:
            written = JSON.codec(spec).encode(self.codec(spec).decode(data))
        except Unreadable:
            return None
        return None if written is None else JSON.to_text(spec, written)

    def from_text(self, spec: PartSpec, text: str) -> bytes:
        """The inverse; raises ValueError."""
        written = self.codec(spec).encode(JSON.codec(spec).decode(JSON.from_text(spec, text)))
        if written is None:
            raise ValueError(f"{text} stands for no bytes")
        return written

    def comparable(self, spec: PartSpec, data: bytes) -> object:
        """The value as JSON compares it."""
        shown = self.to_text(spec, data)
        return data if shown is None else JSON.comparable(spec, shown.encode())


class _Protobuf(_Messages):
    name: ClassVar[str] = "PROTOBUF"
    about = "Protobuf with the id of its schema in the schema registry in front; read by its writer's schema"
    schemas = Subjects("PROTOBUF", "PROTOBUF", "Protobuf", _schema_of, _type_of)

    def _written_by(self, spec: PartSpec) -> Mapping[str, Any]:
        return {"schema": schema_id(spec), "path": list(place_of(spec)), **super()._written_by(spec)}

    def codec(self, spec: PartSpec, lookup: Lookup | None = None) -> Codec:
        """The same in Python; ``lookup``: where schemas come from, by default only that of the columns is known."""
        return _RegisteredCodec(spec, lookup or _own(spec))

    def reading(self, spec: PartSpec, registry: SchemaRegistry | None) -> Codec:
        """By the schemas of the registry."""
        own = _own(spec)

        def lookup(number: int) -> ProtoFile:
            found = registered_as(self.schemas.kind, number, registry)
            return own(number) if found is None else proto_file(found.text, found.references)

        return _RegisteredCodec(spec, lookup)


class _ProtobufNosr(_Messages):
    name: ClassVar[str] = "PROTOBUF_NOSR"
    about = "Protobuf alone: the columns are the fields 1, 2, … of the message"
    schemas = DECLARED
    names_records = False

    def _read_by(self, spec: PartSpec) -> Mapping[str, str]:
        return {"text": schema_of(spec), "message": root_of(spec)}

    def codec(self, spec: PartSpec) -> Codec:
        """The same in Python."""
        return _Codec(spec)


PROTOBUF = _Protobuf()
PROTOBUF_NOSR = _ProtobufNosr()


# ---------------------------------------------------------------- the place of a message


def _file(spec: PartSpec) -> ProtoFile:
    chosen = spec.schema
    return proto_file(schema_of(spec)) if chosen is None else proto_file(chosen.text, chosen.references)


def _message(spec: PartSpec) -> Any:
    """The descriptor of the message that is written."""
    if spec.schema is None:
        return _file(spec).named(root_of(spec))
    return _file(spec).chief() if spec.schema_name is None else _file(spec).named(spec.schema_name)


def place_of(spec: PartSpec) -> tuple[int, ...]:
    """Where the message that is written stands in its schema."""
    return (0,) if spec.schema is None else _file(spec).place(_message(spec).full_name)


def placed(data: bytes) -> tuple[tuple[int, ...], bytes]:
    """The place of a message in its schema, and the message itself; raises Unreadable.

    ``data``: what stands behind the id (Confluent, wire format).
    """
    steps: list[int] = []
    at = 0

    def number() -> int:
        nonlocal at
        found = shift = 0
        while True:
            if at >= len(data) or shift > 63:
                raise Unreadable("it ends too early, or is no message of Protobuf")
            found |= (data[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 0x80:
                return (found >> 1) ^ -(found & 1)

    count = number()
    if not 0 <= count <= _MOST_LEVELS:
        raise Unreadable("it names no message of its schema")
    for _ in range(count):
        steps.append(number())
    return tuple(steps) or (0,), data[at:]


_MOST_LEVELS = 32


def _ahead(place: Sequence[int]) -> bytes:
    if tuple(place) == (0,):
        return b"\0"
    found = bytearray()
    for number in (len(place), *place):
        rest = number << 1
        while rest >= 0x80:
            found.append(rest & 0x7F | 0x80)
            rest >>= 7
        found.append(rest)
    return bytes(found)


# ---------------------------------------------------------------- Python


def _own(spec: PartSpec) -> Lookup:
    def lookup(number: int) -> ProtoFile:
        if number != spec.schema_id:
            raise Unreadable(f"the schema registry has no schema {number}")
        return _file(spec)

    return lookup


class _Codec:
    """Messages alone, of the schema that follows from the columns."""

    def __init__(self, spec: PartSpec) -> None:
        self._names = [c.name for c in spec.columns]
        self._type = StructType(tuple((c.name, c.type) for c in spec.columns))
        message = _message(spec)
        self._read = reader_of(message, self._type)
        self._write = writer_of(message, self._type)

    def decode(self, data: bytes | None) -> tuple[Any, ...] | None:
        if data is None:
            return None
        found = self._read(data)
        return tuple(found[n] for n in self._names)

    def encode(self, values: Sequence[Any] | None) -> bytes | None:
        return None if values is None else self._write(dict(zip(self._names, values, strict=True)))


class _RegisteredCodec:
    """Messages behind the id of their schema and their place in it."""

    def __init__(self, spec: PartSpec, lookup: Lookup) -> None:
        self._spec = spec
        self._lookup = lookup
        self._names = [c.name for c in spec.columns]
        self._type = StructType(tuple((c.name, c.type) for c in spec.columns))
        self._readers: dict[tuple[int, ...], Callable[[bytes], dict[str, Any]]] = {}
        self._writer: tuple[bytes, Callable[[Mapping[str, Any]], bytes]] | None = None

    def decode(self, data: bytes | None) -> tuple[Any, ...] | None:
        if data is None:
            return None
        if len(data) < AHEAD:
            raise Unreadable(f"not Protobuf of a schema registry: it has {len(data)} bytes")
        if data[0] != 0:
            raise Unreadable(f"not Protobuf of a schema registry: it begins with byte {data[0]}, not 0")
        (number,) = struct.unpack(">i", data[1:AHEAD])
        place, rest = placed(data[AHEAD:])
        reader = self._readers.get((number, *place))
        if reader is None:
            reader = reader_of(self._lookup(number).at(place), self._type)
            self._readers[(number, *place)] = reader
        found = reader(rest)
        return tuple(found[n] for n in self._names)

    def encode(self, values: Sequence[Any] | None) -> bytes | None:
        if values is None:
            return None
        if self._writer is None:
            front = struct.pack(">bi", 0, schema_id(self._spec)) + _ahead(place_of(self._spec))
            self._writer = front, writer_of(_message(self._spec), self._type)
        front, write = self._writer
        return front + write(dict(zip(self._names, values, strict=True)))
