"""Format JSON_SR: JSON as Confluent's serializers write it, with the id of its schema in front."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ksqlpy.catalog import PartSpec
from ksqlpy.formats.contract import Codec, Format, SchemaProperties, Unreadable, Which, Written
from ksqlpy.formats.json import JSON
from ksqlpy.formats.jsonschema import schema_of, type_of
from ksqlpy.formats.jvm import jvm_reader
from ksqlpy.formats.subjects import AHEAD, Subjects, schema_id
from ksqlpy.registry import Registered
from ksqlpy.types import SqlType

__all__ = ["JSON_SR"]


def _schema_of(spec: PartSpec, which: Which, source: str | None) -> str:
    return schema_of(spec)  # JSON Schemas of keys and values have no names


def _type_of(found: Registered, given: SchemaProperties) -> SqlType:
    return type_of(found.text, found.references, keep_case=given.id is not None)


class _JsonSr(Format):
    name = "JSON_SR"
    about = "JSON with the id of its schema in the schema registry in front"
    schemas = Subjects("JSON_SR", "JSON", "JSON", _schema_of, _type_of)
    names_records = True
    signs_zero = False

    def reader(self, spec: PartSpec, data: str) -> str:
        """``JsonReader.java``, behind the id."""
        return jvm_reader(JSON.name, spec, data, registered="JSON")

    def writer(self, spec: PartSpec, columns: Sequence[Written]) -> str:
        """As JSON, behind the id; null for a bare null."""
        return f"concat(X'{_front(schema_id(spec)).hex()}', {JSON.writer(spec, columns)})"

    def codec(self, spec: PartSpec) -> Codec:
        """The same in Python, which takes any id."""
        return _JsonSrCodec(spec)

    def to_text(self, spec: PartSpec, data: bytes) -> str | None:
        """As JSON."""
        return JSON.to_text(spec, data[AHEAD:]) if data[:1] == b"\0" else None

    def from_text(self, spec: PartSpec, text: str) -> bytes:
        """The inverse; raises EngineProblem ``unregistered-schema``."""
        return _front(schema_id(spec)) + JSON.from_text(spec, text)

    def comparable(self, spec: PartSpec, data: bytes) -> object:
        """As JSON."""
        return JSON.comparable(spec, data[AHEAD:])


JSON_SR = _JsonSr()


def _front(number: int) -> bytes:
    return struct.pack(">bi", 0, number)


class _JsonSrCodec:
    def __init__(self, spec: PartSpec) -> None:
        self._spec = spec
        self._json = JSON.codec(replace(spec, schema_id=None))

    def decode(self, data: bytes | None) -> tuple[Any, ...] | None:
        if data is None:
            return None
        if len(data) < AHEAD:
            raise Unreadable(f"not JSON of a schema registry: it has {len(data)} bytes")
        if data[0] != 0:
            raise Unreadable(f"not JSON of a schema registry: it begins with byte {data[0]}, not 0")
        return self._json.decode(data[AHEAD:])

    def encode(self, values: Sequence[Any] | None) -> bytes | None:
        written = self._json.encode(values)
        return None if written is None else _front(schema_id(self._spec)) + written
