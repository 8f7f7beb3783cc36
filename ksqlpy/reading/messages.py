"""Records as Kafka's client gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ksqlpy.reading.records import Record

if TYPE_CHECKING:
    from confluent_kafka import Message

__all__ = ["headers_of", "record_of"]


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
