"""Schemas of a case's topics in the schema registry of its engine, and records written and read by them."""

from __future__ import annotations

import itertools
import json
import re
import struct
import urllib.parse
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import httpx

from ksqlpy.catalog import PartSpec
from ksqlpy.formats import FORMATS
from ksqlpy.formats.contract import Which
from ksqlpy.formats.protobuf import placed
from ksqlpy.formats.protofile import proto_file
from ksqlpy.registry import Registered, SchemaRegistry

from .avro import from_avro, to_avro
from .cases import json_text
from .proto import from_proto, message_for, place_bytes, to_proto

__all__ = ["Schemas"]

_SCHEMA_ID = re.compile(r"(?i)(\b(?:KEY|VALUE)_SCHEMA_ID['`]?\s*=\s*)(\d+)")

_KINDS = {"AVRO": "AVRO", "JSON_SR": "JSON", "JSON": "JSON", "PROTOBUF": "PROTOBUF"}


class Schemas:
    """What a registry has of the topics of a case."""

    def __init__(self, registry: SchemaRegistry | None, suffix: str = "") -> None:
        self._registry = registry
        self._suffix = suffix
        """What stands behind the names of topics."""
        self._known: dict[int, Registered | None] = {}
        self._ids: dict[int, int] = {}
        """The registry's ids by those of the case."""

    def offer(self, topics: Sequence[Mapping[str, Any]], declared: int = 0) -> None:
        """Registers the schemas that a case gives its topics, those with an id first.

        ``declared``: how many ids are taken before by schemas that follow from the columns of statements.
        """
        given = [(t, w) for t in topics for w in ("key", "value") if t.get(f"{w}Schema") is not None]
        given.sort(key=lambda g: g[0].get(f"{g[1]}SchemaId") is None)
        count = itertools.count(1 + declared)
        for topic, which in given if self._registry is not None else ():
            kind = _KINDS.get(topic.get(f"{which}Format") or "AVRO", "AVRO")
            schema = topic[f"{which}Schema"]
            text = schema if kind == "PROTOBUF" else json.dumps(schema, default=str)
            references = topic.get(f"{which}SchemaReferences") or ()
            number = self._register(f"{topic['name']}{self._suffix}-{which}", text, kind, references)
            theirs = topic.get(f"{which}SchemaId")
            if theirs is None and number in self._ids.values():
                continue
            if theirs is None:
                theirs = next(n for n in count if n not in self._ids)
            self._ids[theirs] = number

    def _register(self, subject: str, text: str, kind: str, references: Sequence[Mapping[str, Any]]) -> int:
        assert self._registry is not None
        if not references:
            return self._registry.register(subject, text, kind)
        shown = []
        for each in references:
            within = _KINDS.get(each.get("format") or kind, kind)
            schema = each["schema"] if isinstance(each["schema"], str) else json.dumps(each["schema"])
            self._registry.register(each["name"], schema, within)
            shown.append({"name": each["name"], "subject": each["name"], "version": 1})
        body = {"schema": text, "schemaType": kind, "references": shown}
        url = f"{self._registry.urls[0]}/subjects/{urllib.parse.quote(subject, safe='')}/versions"
        return int(httpx.post(url, json=body).raise_for_status().json()["id"])

    def renumbered(self, statement: str) -> str:
        """A statement of the case with the registry's ids of the schemas, whose numbers are the case's."""
        return _SCHEMA_ID.sub(lambda m: f"{m[1]}{self._ids.get(int(m[2]), m[2])}", statement)

    def declare(self, topic: str, which: Which, part: PartSpec) -> None:
        """Registers the schema that follows from the columns of a source, where the topic has none."""
        if self._registry is None or self._registry.latest(f"{topic}{self._suffix}-{which}") is not None:
            return
        FORMATS[part.format].schemas.register(topic + self._suffix, which, part, self._registry, source=topic)

    def encoded(self, topic: str, which: str, tree: Any) -> bytes:
        """The bytes of a tree of JSON by the latest schema of the topic; raises ValueError."""
        found = self._registry and self._registry.latest(f"{topic}{self._suffix}-{which}")
        if not found:
            raise ValueError(f"the topic {topic} has no schema of its {which}")
        if found.kind == "PROTOBUF":
            place, message = message_for(proto_file(found.text, found.references), tree)
            written = place_bytes(place) + to_proto(message, tree)
        else:
            written = to_avro(found.text, tree) if found.kind == "AVRO" else json_text(tree).encode()
        return struct.pack(">bi", 0, found.id) + written

    def decoded(self, data: bytes) -> Any:
        """The tree of JSON that bytes stand for."""
        if len(data) < 5 or data[0] != 0:
            return f"no record of a schema registry: {data!r}"
        [number] = struct.unpack(">i", data[1:5])
        if number not in self._known:
            assert self._registry is not None
            self._known[number] = self._registry.schema(number)
        found = self._known[number]
        if found is None:
            return f"no schema {number}"
        if found.kind == "AVRO":
            return from_avro(found.text, data[5:])
        if found.kind == "PROTOBUF":
            place, rest = placed(data[5:])
            return from_proto(proto_file(found.text, found.references).at(place), rest)
        return json.loads(data[5:], parse_float=Decimal)
