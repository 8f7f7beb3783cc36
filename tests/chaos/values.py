"""Values of records in the format of the run."""

from __future__ import annotations

import json

from ksqlpy.formats import serializers
from ksqlpy.registry import SchemaRegistry

__all__ = ["FORMATS", "Values"]

FORMATS = ("JSON", *serializers.FORMATS)


class Values:
    """Turns JSON objects into values of topics, and back; ``registry``: None for JSON."""

    def __init__(self, format_: str, registry: SchemaRegistry | None) -> None:
        self.format = format_
        self._serializer = None if registry is None else serializers.Serializer(registry)

    def declared(self, statements: str) -> str:
        """Statements of sources in JSON as statements of sources in this format."""
        return statements.replace("VALUE_FORMAT='JSON'", f"VALUE_FORMAT='{self.format}'")

    def encode(self, topic: str, value: bytes) -> bytes:
        """The value of a record of the topic, whose source is declared."""
        return value if self._serializer is None else self._serializer.encode(topic, json.loads(value))

    def decode(self, data: bytes | None) -> bytes | None:
        """The value as a JSON object; what is no value of this format stays as it is, and is judged so."""
        if data is None or self._serializer is None:
            return data
        try:
            return json.dumps(self._serializer.decode(data)).encode()
        except ValueError:
            return data
