"""Format AVRO: records as Confluent's serializers write them, with the schema's id in the schema registry in front."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cache
from math import isnan, nan
from typing import Any

from ksqlpy.catalog import Column, PartSpec
from ksqlpy.formats import text
from ksqlpy.formats.avroread import reader_of
from ksqlpy.formats.avroschema import ROOT, key_name, misnamed, schema_of, type_of
from ksqlpy.formats.contract import Codec, Format, Refusal, Unreadable, Which, Written
from ksqlpy.formats.java import cleaned
from ksqlpy.formats.json import JSON
from ksqlpy.formats.jvm import described, jvm_reader
from ksqlpy.formats.kafka import of_word, word
from ksqlpy.formats.subjects import AHEAD, Subjects, schema_id
from ksqlpy.types import DOUBLE, STRING, ArrayType, DecimalType, MapType, SqlType, StructType

__all__ = ["AVRO", "Lookup"]

Lookup = Callable[[int], str]
"""The schema of an id; raises Unreadable."""


def _schema_of(spec: PartSpec, which: Which, source: str | None) -> str:
    return schema_of(spec, ROOT if source is None or which == "value" else key_name(source))


class _Avro(Format):
    name = "AVRO"
    about = "Avro with the id of its schema in the schema registry in front; each record is read by its writer's schema"
    schemas = Subjects("AVRO", "AVRO", "Avro", _schema_of, type_of)

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
        about = {"write": self.name, "schema": schema_id(spec), **described(spec)}
        fields = ", ".join(f"{text.string(c.name)}, {c.value}" for c in columns)
        return f"ksqlpy.{text.name(json.dumps(about, separators=(',', ':')))}(named_struct({fields}))"

    def codec(self, spec: PartSpec, lookup: Lookup | None = None) -> Codec:
        """The same in Python; ``lookup``: where schemas come from, by default only that of the columns is known."""
        return _AvroCodec(spec, lookup or _own(spec))

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
    def lookup(number: int) -> str:
        if number != spec.schema_id:
            raise Unreadable(f"the schema registry has no schema {number}")
        return schema_of(spec)

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
        import fastavro  # slow to import, and not needed by a server: records are written in the JVM

        number = schema_id(replace(self._spec, schema_id=self._id))
        value = values[0] if self._bare else dict(zip(self._names, values, strict=True))
        out = io.BytesIO()
        out.write(struct.pack(">bi", 0, number))
        fastavro.schemaless_writer(out, _parsed(schema_of(self._spec)), _written(value, self._type))
        return out.getvalue()


@cache
def _parsed(schema: str) -> Any:
    import fastavro

    return fastavro.parse_schema(_raw(json.loads(schema)))


def _raw(schema: Any) -> Any:
    """The schema without logical types: values are given as they lie in the bytes."""
    if isinstance(schema, list):
        return [_raw(s) for s in schema]
    if isinstance(schema, dict):
        return {k: _raw(v) if k in ("type", "items", "fields") else v for k, v in schema.items() if k != "logicalType"}
    return schema


def _written(value: Any, type_: SqlType) -> Any:
    """A value of a codec as fastavro writes it."""
    if value is None:
        return None
    match type_:
        case ArrayType(item):
            return [_written(v, item) for v in value]
        case MapType(_, item):
            return [{"key": cleaned(k), "value": _written(v, item)} for k, v in value.items()]
        case StructType(fields):
            found: Mapping[str, Any] = value
            return {n: _written(found[n], t) for n, t in fields}
        case DecimalType(_, scale):
            return _digits(value, scale)
    if type_ == STRING:
        return cleaned(value)
    if type_ == DOUBLE and isnan(value):
        return nan  # of many NaNs the one that Java writes
    return value


def _digits(number: Decimal, scale: int) -> bytes:
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    whole = int("".join(map(str, digits)) or "0") * int(10 ** (scale + exponent)) * (-1 if sign else 1)
    # As Java's BigInteger does: the fewest bytes that keep the sign.
    return whole.to_bytes((whole if whole >= 0 else ~whole).bit_length() // 8 + 1, signed=True)
