"""Format AVRO: records as Confluent's serializers write them, with the schema's id in the schema registry in front."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ksqlpy.catalog import Column, PartSpec, Schema
from ksqlpy.formats import text
from ksqlpy.formats.avroread import reader_of
from ksqlpy.formats.avroschema import key_name, schema_of, type_of
from ksqlpy.formats.avrowrite import writer_of
from ksqlpy.formats.contract import Codec, Format, Refusal, SchemaProperties, Unreadable, Which, Written
from ksqlpy.formats.json import JSON
from ksqlpy.formats.jvm import described, jvm_reader
from ksqlpy.formats.kafka import of_word, word
from ksqlpy.formats.names import misnamed
from ksqlpy.formats.subjects import AHEAD, Subjects, registered_as, schema_id
from ksqlpy.registry import Registered, SchemaRegistry
from ksqlpy.types import STRING, SqlType, StructType

__all__ = ["AVRO", "Lookup"]

Lookup = Callable[[int], Schema]
"""The schema of an id; raises Unreadable."""


def _schema_of(spec: PartSpec, which: Which, source: str | None) -> str:
    named = spec.schema_name or (key_name(source) if source is not None and which == "key" else None)
    return schema_of(spec) if named is None else schema_of(spec, named)


def _type_of(found: Registered, given: SchemaProperties) -> SqlType:
    return type_of(found.text, found.references, keep_case=given.id is not None)


class _Avro(Format):
    name = "AVRO"
    about = "Avro with the id of its schema in the schema registry in front; each record is read by its writer's schema"
    schemas = Subjects("AVRO", "AVRO", "Avro", _schema_of, _type_of)
    names_records = True

    def refusal(self, which: Which, columns: Sequence[Column]) -> Refusal | None:
        """Also names that Avro does not take."""
        found = super().refusal(which, columns)
        odd = misnamed(columns) if found is None else None
        if odd is None:
            return found
        return Refusal(f"format AVRO takes names of letters, digits and _ only: {odd}", "give it another name")

    def reader(self, spec: PartSpec, data: str) -> str:
        """``AvroReader.java``."""
        return jvm_reader(self.name, spec, data)

    def writer(self, spec: PartSpec, columns: Sequence[Written]) -> str:
        """``AvroWriter.java``; raises EngineProblem ``unregistered-schema``."""
        schema = spec.schema or Schema(schema_of(spec))
        references = [reference for _, reference in schema.references]
        by = {"schema": schema_id(spec), "text": schema.text, "references": references}
        about = {"write": self.name, **by, **described(spec)}
        fields = ", ".join(f"{text.string(c.name)}, {c.value}" for c in columns)
        return f"ksqlpy.{text.name(json.dumps(about, separators=(',', ':')))}(named_struct({fields}))"

    def codec(self, spec: PartSpec, lookup: Lookup | None = None) -> Codec:
        """The same in Python; ``lookup``: where schemas come from, by default only that of the columns is known."""
        return _AvroCodec(spec, lookup or _own(spec))

    def reading(self, spec: PartSpec, registry: SchemaRegistry | None) -> Codec:
        """By the schemas of the registry."""
        own = _own(spec)

        def lookup(number: int) -> Schema:
            found = registered_as(self.schemas.kind, number, registry)
            return own(number) if found is None else Schema(found.text, found.references)

        return _AvroCodec(spec, lookup)

    def to_text(self, spec: PartSpec, data: bytes) -> str | None:
        """The value in JSON; None for what another schema wrote."""
        try:
            values = self.codec(spec).decode(data)
        except Unreadable:
            return None
        if spec.bare and spec.columns[0].type == STRING:
            return None if values is None else word(str(values[0]).encode())
        written = JSON.codec(spec).encode(values)
        return None if written is None else JSON.to_text(spec, written)

    def from_text(self, spec: PartSpec, text: str) -> bytes:
        """The inverse; raises ValueError."""
        if spec.bare and spec.columns[0].type == STRING:
            values: Sequence[Any] | None = (of_word(text).decode(),)
        else:
            values = JSON.codec(spec).decode(JSON.from_text(spec, text))
        written = self.codec(spec).encode(values)
        if written is None:
            raise ValueError(f"{text} stands for no bytes")
        return written

    def comparable(self, spec: PartSpec, data: bytes) -> object:
        """The value as JSON compares it."""
        shown = self.to_text(spec, data)
        return data if shown is None else JSON.comparable(spec, shown.encode())


AVRO = _Avro()


def _own(spec: PartSpec) -> Lookup:
    def lookup(number: int) -> Schema:
        if number != spec.schema_id:
            raise Unreadable(f"the schema registry has no schema {number}")
        return spec.schema or Schema(schema_of(spec))

    return lookup


# ---------------------------------------------------------------- Python


class _AvroCodec:
    def __init__(self, spec: PartSpec, lookup: Lookup) -> None:
        self._spec = replace(spec, schema_id=None)
        self._id = spec.schema_id
        self._lookup = lookup
        self._bare = spec.bare
        self._names = [c.name for c in spec.columns]
        self._type = spec.columns[0].type if spec.bare else StructType(tuple((c.name, c.type) for c in spec.columns))
        self._readers: dict[int, Callable[[bytes], Any]] = {}
        self._writer: Callable[[Any], bytes] | None = None

    def decode(self, data: bytes | None) -> tuple[Any, ...] | None:
        if data is None:
            return None
        if len(data) < AHEAD:
            raise Unreadable(f"not Avro of a schema registry: it has {len(data)} bytes")
        if data[0] != 0:
            raise Unreadable(f"not Avro of a schema registry: it begins with byte {data[0]}, not 0")
        (number,) = struct.unpack(">i", data[1:AHEAD])
        if number not in self._readers:
            self._readers[number] = reader_of(self._lookup(number), number, self._type)
        value = self._readers[number](data[AHEAD:])
        if value is None:
            return None
        return (value,) if self._bare else tuple(value[n] for n in self._names)

    def encode(self, values: Sequence[Any] | None) -> bytes | None:
        if values is None or (self._bare and values[0] is None):
            return None
        if self._writer is None:
            self._writer = writer_of(self._spec.schema or Schema(schema_of(self._spec)), self._type)
        number = schema_id(replace(self._spec, schema_id=self._id))
        value = values[0] if self._bare else dict(zip(self._names, values, strict=True))
        return struct.pack(">bi", 0, number) + self._writer(value)
