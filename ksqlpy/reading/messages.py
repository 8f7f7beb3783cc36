"""Records as Kafka's client gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ksqlpy.reading.bulk import Raw
from ksqlpy.reading.records import Record

if TYPE_CHECKING:
    from confluent_kafka import Message

__all__ = ["headers_of", "raw_of", "record_of"]


def headers_of(message: Message) -> tuple[tuple[str, bytes | None], ...]:
    """The headers of a message."""
    given: Any = message.headers() or ()
    return tuple((n, v.encode() if isinstance(v, str) else v) for n, v in given)


def record_of(message: Message) -> Record:
    """The record of a message that is no error."""
    partition, offset = message.partition(), message.offset()
    assert partition is not None and offset is not None
    key: Any = message.key()
    value: Any = message.value()
    return Record(key, value, message.timestamp()[1], partition, offset, headers_of(message))


def raw_of(messages: Sequence[Message]) -> Raw | None:
    """The bytes of messages; None where one of them is an error."""
    if any(m.error() is not None for m in messages):
        return None
    keys: Any = [m.key() for m in messages]
    values: Any = [m.value() for m in messages]
    return Raw(keys, values, [m.timestamp()[1] for m in messages])
