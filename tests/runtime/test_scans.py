"""How a stream is read for a pull query: some of it at a time, by few consumers, as long as it is wanted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest
from confluent_kafka import TopicPartition

from ksqlpy.reading import Record
from ksqlpy.runtime import scans
from tests.support.waiting import until


class Message:
    def __init__(self, partition: int, offset: int, value: bytes) -> None:
        self._place, self._value = (partition, offset), value

    def error(self) -> None:
        return None

    def partition(self) -> int:
        return self._place[0]

    def offset(self) -> int:
        return self._place[1]

    def key(self) -> bytes:
        return b"k"

    def value(self) -> bytes:
        return self._value

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_700_000_000_000

    def headers(self) -> None:
        return None

    def __len__(self) -> int:
        return len(self._value)


class Topic:
    """A topic whose records have values of one size; counts the consumers that are open."""

    def __init__(self, partitions: int, records: int, size: int = 10) -> None:
        self.records, self.value = records, bytes(size)
        self.ends = {str(p): records for p in range(partitions)}
        self.open = self.most = self.opened = self.read = 0
        self.silent = False
        self._lock = threading.Lock()

    def consumer(self) -> Consumer:
        with self._lock:
            self.open += 1
            self.opened += 1
            self.most = max(self.most, self.open)
        return Consumer(self)

    def closed(self) -> None:
        with self._lock:
            self.open -= 1

    def scan(self, closing: threading.Event, most: int = 10_000) -> Iterator[Record]:
        start, consumer = dict.fromkeys(self.ends, 0), cast(Any, self.consumer)  # a stand-in for Kafka's
        return scans.one_by_one("t", start, self.ends, consumer, closing, most)


class Consumer:
    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._next: dict[int, int] = {}

    def assign(self, places: list[TopicPartition]) -> None:
        self._next = {p.partition: p.offset for p in places}

    def poll(self, timeout: float) -> Message | None:
        if self._topic.silent:
            threading.Event().wait(timeout)
            return None
        place = min((p for p, o in self._next.items() if o < self._topic.records), key=lambda p: self._next[p])
        self._next[place] += 1
        self._topic.read += 1
        return Message(place, self._next[place] - 1, self._topic.value)

    def close(self) -> None:
        self._topic.closed()


def places(records: Iterator[Record]) -> list[tuple[int, int]]:
    return sorted((r.partition, r.offset) for r in records)


@pytest.mark.parametrize(
    ("size", "most", "opened"), [(10, 10_000, 1), (10, 40, 2), (10, 1, 7), (3_000_000, 10_000, 34)]
)
def test_each_record_is_read_once(size: int, most: int, opened: int) -> None:
    topic = Topic(2, 50, size)
    assert places(topic.scan(threading.Event(), most)) == [(p, o) for p in range(2) for o in range(50)]
    assert (topic.opened, topic.open, topic.read) == (opened, 0, 100)


def test_no_consumer_is_open_while_a_client_takes_its_rows() -> None:
    topic = Topic(1, 50)
    rows = topic.scan(threading.Event(), 10)
    next(rows)
    assert (topic.open, topic.read) == (0, 10)


def test_few_consumers_read_at_one_time() -> None:
    topic, closing = Topic(1, 50), threading.Event()
    topic.silent = True
    scans = [threading.Thread(target=lambda: list(topic.scan(closing)), daemon=True) for _ in range(12)]
    for scan in scans:
        scan.start()
    assert until(lambda: topic.open == 4)
    topic.silent = False
    assert until(lambda: not any(s.is_alive() for s in scans))
    assert (topic.most, topic.opened, topic.read) == (4, 12, 600)


def test_a_scan_ends_when_nobody_wants_it() -> None:
    topic, closing = Topic(1, 50), threading.Event()
    topic.silent = True  # it has no record yet, and asks for one
    scans = [threading.Thread(target=lambda: list(topic.scan(closing)), daemon=True) for _ in range(12)]
    for scan in scans:
        scan.start()
    assert until(lambda: topic.open == 4)
    closing.set()
    assert until(lambda: not any(s.is_alive() for s in scans))
    assert (topic.open, topic.opened) == (0, 4)
