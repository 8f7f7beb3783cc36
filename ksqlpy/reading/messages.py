"""Records as Kafka's client gives them.

A result may have millions of them: methods of messages are mapped, without a frame of Python for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from confluent_kafka import Message

from ksqlpy.reading.bulk import Raw
from ksqlpy.reading.records import Record

__all__ = ["headers_of", "raw_of", "record_of", "with_errors"]


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
    if with_errors(messages):
        return None
    keys: Any = [*map(Message.key, messages)]
    values: Any = [*map(Message.value, messages)]
    return Raw(keys, values, [*map(itemgetter(1), map(Message.timestamp, messages))])


def with_errors(messages: Sequence[Message]) -> bool:
    """Whether one of them is an error."""
    return any(map(Message.error, messages))
