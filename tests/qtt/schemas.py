"""Schemas of a case's topics in the schema registry of its engine, and records written and read by them."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from ksqlpy.registry import Registered, SchemaRegistry

from .avro import from_avro, to_avro
from .cases import json_text

__all__ = ["Schemas"]

_KINDS = {"AVRO": "AVRO", "JSON_SR": "JSON", "PROTOBUF": "PROTOBUF"}


class Schemas:
    """What a registry has of the topics of a case."""

    def __init__(self, registry: SchemaRegistry | None, suffix: str = "") -> None:
        self._registry = registry
        self._suffix = suffix
        """What stands behind the names of topics."""
        self._known: dict[int, Registered | None] = {}

    def offer(self, topics: Sequence[Mapping[str, Any]]) -> None:
        """Registers the schemas that a case gives its topics."""
        for topic in topics:
            for which in ("key", "value"):
                schema = topic.get(f"{which}Schema")
                if schema is not None and self._registry is not None:
                    kind = _KINDS.get(topic.get(f"{which}Format") or "AVRO", "AVRO")
                    text = schema if kind == "PROTOBUF" else json.dumps(schema, default=str)
                    self._registry.register(f"{topic['name']}{self._suffix}-{which}", text, kind)

    def encoded(self, topic: str, which: str, tree: Any) -> bytes:
        """The bytes of a tree of JSON by the latest schema of the topic; raises ValueError."""
        found = self._registry and self._registry.latest(f"{topic}{self._suffix}-{which}")
        if not found:
            raise ValueError(f"the topic {topic} has no schema of its {which}")
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
        return json.loads(data[5:], parse_float=Decimal)
