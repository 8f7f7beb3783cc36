"""Streams that pull queries read: some records at a time, by few consumers, as long as they are wanted.

Records are read one at a time: beside many threads that do so, each of which makes no room for others while it reads a
record of 1 MB, the server would answer nobody.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from ksqlpy.atwork import waiting
from ksqlpy.errors import EngineProblem
from ksqlpy.reading import Record
from ksqlpy.reading.messages import record_of, with_errors

__all__ = ["AT_FIRST", "PATIENCE", "in_bulk", "one_by_one"]

AT_FIRST = 5_000
"""Records that are read before the first of them are given."""

_TOGETHER = 20_000
"""Records that are given at once in bulk."""

_IDLE_SECONDS = 0.1
_SCANS = threading.Semaphore(4)
"""Consumers that read streams for pull queries at one time. librdkafka unpacks all that one fetch has brought: of
records that compress well that is hundreds of megabytes for each consumer."""

_BYTES = 8 * 2**20
"""Bytes of values that such a consumer reads at one time."""

PATIENCE = 60.0
"""Seconds without a record after which the reading of a stream has failed."""

_Left = dict[int, tuple[int, int]]
"""By partition the next offset that is to be read, and the one before which the reading ends."""


def one_by_one(
    topic: str,
    start: Mapping[str, int],
    end: Mapping[str, int],
    consumer: Callable[[], Consumer],
    closing: threading.Event,
    most: int,
) -> Iterator[Record]:
    """The records of a topic between two offsets of each partition; ends when nobody wants them.

    They are read some at a time, and no consumer is open while a client takes their rows: ``most`` at first, which is
    what a LIMIT needs, then twice as many, as there may be no row in them; never more than :data:`_BYTES`.
    """
    left = _to_read(start, end)
    while left and not closing.is_set():
        yield from map(record_of, _some(topic, left, consumer, closing, most, 1))
        most = min(2 * most, AT_FIRST)


def in_bulk(
    topic: str,
    start: Mapping[str, int],
    end: Mapping[str, int],
    consumer: Callable[[], Consumer],
    closing: threading.Event,
) -> Iterator[list[Message]]:
    """The same as messages, :data:`_TOGETHER` of them at most, for who wants all."""
    left = _to_read(start, end)
    while left and not closing.is_set():
        found = _some(topic, left, consumer, closing, 2**31, AT_FIRST)
        yield from (found[i : i + _TOGETHER] for i in range(0, len(found), _TOGETHER))


def _to_read(start: Mapping[str, int], end: Mapping[str, int]) -> _Left:
    return {int(p): (start[p], o) for p, o in end.items() if start[p] < o}


def _some(
    topic: str, left: _Left, consumer: Callable[[], Consumer], closing: threading.Event, most: int, at_once: int
) -> list[Message]:
    """The next records; ``left``: what is to be read, which gets less; ``at_once``: how many are taken together."""
    found: list[Message] = []
    size = 0
    with _scanning(closing) as wanted, contextlib.ExitStack() as stack:
        if not wanted:
            return found
        reader = stack.enter_context(contextlib.closing(consumer()))
        reader.assign([TopicPartition(topic, p, next_) for p, (next_, _) in left.items()])
        deadline = time.monotonic() + PATIENCE
        while left and size < _BYTES and len(found) < most and not closing.is_set():
            message = reader.poll(_IDLE_SECONDS)
            if message is None:
                if time.monotonic() > deadline:
                    raise EngineProblem("query-failed", f"topic {topic} cannot be read: the brokers do not answer")
                continue
            deadline = time.monotonic() + PATIENCE
            come = [message, *reader.consume(at_once - 1, 0)] if at_once > 1 else [message]
            if not _all_wanted(come, left):
                come = [m for m in come if _wanted(m, topic, left)]
            found += come
            size += sum(map(len, come))
    return found


def _all_wanted(messages: list[Message], left: _Left) -> bool:
    """Whether all are records of a single partition ahead of its end, as a look at the last one tells."""
    if len(messages) < 2 or len(left) > 1 or with_errors(messages):
        return False
    [(partition, (_, end))] = left.items()
    last = messages[-1].offset()
    assert last is not None
    if last + 1 >= end:
        return False
    left[partition] = (last + 1, end)
    return True


def _wanted(message: Message, topic: str, left: _Left) -> bool:
    """Whether it is a record that is to be read; it is read then. Raises EngineProblem."""
    error, partition, offset = message.error(), message.partition(), message.offset()
    if error is not None:
        if error.code() != KafkaError._PARTITION_EOF:
            raise EngineProblem("query-failed", f"topic {topic} cannot be read: {error.str()}")
        left.pop(partition, None)  # type: ignore[arg-type]
        return False
    assert partition is not None and offset is not None
    if partition not in left:
        return False
    end = left[partition][1]
    left[partition] = (offset + 1, end)
    if offset + 1 >= end:
        del left[partition]
    return offset < end


@contextlib.contextmanager
def _scanning(closing: threading.Event) -> Iterator[bool]:
    """Is one of :data:`_SCANS`, and waits for that; False where nobody wants it any more."""
    entered = False
    try:
        with waiting():
            while not entered and not closing.is_set():
                entered = _SCANS.acquire(timeout=_IDLE_SECONDS)
        yield entered and not closing.is_set()
    finally:
        if entered:
            _SCANS.release()
