"""The demo in another format than JSON: its statements, the records that go in, the values that come out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal

from ksqlpy.demo.data import Ride, Zone
from ksqlpy.formats import serializers

__all__ = ["FORMATS", "Values"]

FORMATS = ("JSON", *serializers.FORMATS)

_TOPIC = re.compile(r"\bkafka_topic\s*=", re.IGNORECASE)
_JSON = re.compile(r"\b(value_format\s*=\s*)'JSON'", re.IGNORECASE)

Records = Iterator[tuple[bytes, bytes]]


class Values:
    """How values are written and read; ``serializer``: None for JSON."""

    def __init__(self, format_: str = "JSON", serializer: serializers.Serializer | None = None) -> None:
        self._format, self._serializer = format_, serializer

    def statement(self, text: str) -> str:
        """A statement of ``taxi.sql`` for this format; a null of Protobuf is told from 0 there."""
        if self._format == "PROTOBUF":
            nulls = "value_protobuf_nullable_representation = 'OPTIONAL'"
            text = _TOPIC.sub(lambda found: f"{nulls}, {found[0]}", text, count=1)
        return _JSON.sub(lambda found: f"{found[1]}'{self._format}'", text)

    def records(self, topic: str, rows: Iterable[Ride | Zone]) -> Records:
        """Keys and values of the topic, whose source is declared."""
        if self._serializer is None:
            return (row.record for row in rows)
        write = self._serializer.encode
        return ((row.key, write(topic, row.value)) for row in rows)

    @property
    def read(self) -> Callable[[bytes], Mapping[str, object]]:
        """What makes columns of the value of a result; raises ValueError."""
        if self._serializer is None:
            return _of_json
        decode = self._serializer.decode
        return lambda data: {n: _exact(v) for n, v in decode(data).items()}


def _exact(value: object) -> object:
    """A DOUBLE as the number that its text says, as it stands in the files."""
    return Decimal(repr(value)) if isinstance(value, float) else value


def _of_json(data: bytes) -> Mapping[str, object]:
    found: Mapping[str, object] = json.loads(data, parse_float=Decimal)
    return found
