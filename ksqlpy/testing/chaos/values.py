"""Values of records in the format of the run: written as an application writes them, by the schema in the registry."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import cache
from typing import Any

from ksqlpy.errors import EnvironmentProblem
from ksqlpy.formats.protofile import proto_file
from ksqlpy.registry import SchemaRegistry

__all__ = ["FORMATS", "Values"]

FORMATS = ("JSON", "AVRO", "JSON_SR", "PROTOBUF")

_HEAD = 5
"""Bytes in front of a value: a zero, and the id of its schema."""

Coder = Callable[[Any], bytes]
Decoder = Callable[[bytes], Any]


class Values:
    """Turns JSON objects into values of topics, and back; ``registry``: None for JSON.

    Libraries do it that the engine does not use for it, or by another way: so an error of its codecs shows.
    """

    def __init__(self, format_: str, registry: SchemaRegistry | None) -> None:
        self.format, self._registry = format_, registry
        self._coder = cache(self._coder_of)
        self._decoder = cache(self._decoder_of)

    def declared(self, statements: str) -> str:
        """Statements of sources in JSON as statements of sources in this format."""
        return statements.replace("VALUE_FORMAT='JSON'", f"VALUE_FORMAT='{self.format}'")

    def encode(self, topic: str, value: bytes) -> bytes:
        """The value of a record of the topic, whose source is declared."""
        return value if self._registry is None else self._coder(topic)(json.loads(value))

    def decode(self, data: bytes | None) -> bytes | None:
        """The value as a JSON object; what is no value of this format stays as it is, and is judged so."""
        if data is None or self._registry is None:
            return data
        if data[:1] != b"\0" or len(data) < _HEAD:
            return data
        return json.dumps(self._decoder(int.from_bytes(data[1:_HEAD]))(data[_HEAD:])).encode()

    # ------------------------------------------------------------ schemas

    def _coder_of(self, topic: str) -> Coder:
        assert self._registry is not None
        found = self._registry.latest(f"{topic}-value")
        if found is None:
            raise EnvironmentProblem("load-not-sent", f"the schema registry has no schema of the values of {topic}")
        head = b"\0" + found.id.to_bytes(_HEAD - 1)
        if found.kind == "AVRO":
            return _avro_coder(found.text, head)
        if found.kind == "PROTOBUF":
            return _protobuf_coder(found.text, head + b"\0")
        return lambda columns: head + json.dumps(columns).encode()

    def _decoder_of(self, number: int) -> Decoder:
        assert self._registry is not None
        found = self._registry.schema(number)
        if found is None:
            return lambda data: {"unknown schema": number}
        if found.kind == "AVRO":
            return _avro_decoder(found.text)
        return _protobuf_decoder(found.text) if found.kind == "PROTOBUF" else json.loads


def _avro_coder(schema: str, head: bytes) -> Coder:
    import fastavro

    parsed = fastavro.parse_schema(json.loads(schema))

    def encode(columns: Any) -> bytes:
        out = io.BytesIO(head)
        out.seek(0, io.SEEK_END)
        fastavro.schemaless_writer(out, parsed, columns)
        return out.getvalue()

    return encode


def _avro_decoder(schema: str) -> Decoder:
    import fastavro

    parsed = fastavro.parse_schema(json.loads(schema))
    return lambda data: fastavro.schemaless_reader(io.BytesIO(data), parsed, None)


def _protobuf_coder(schema: str, head: bytes) -> Coder:
    from google.protobuf import json_format, message_factory

    make = message_factory.GetMessageClass(proto_file(schema).first())
    return lambda columns: head + json_format.ParseDict(columns, make()).SerializeToString()


def _protobuf_decoder(schema: str) -> Decoder:
    from google.protobuf import json_format, message_factory

    make = message_factory.GetMessageClass(proto_file(schema).first())

    def decode(data: bytes) -> Any:
        message = make.FromString(data[1:])  # the first byte says: the first message
        return json_format.MessageToDict(
            message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )

    return decode
