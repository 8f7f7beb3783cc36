"""Kafka's side of the demo: records go in, and those of the result topics are read as they come."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from ksqlpy.config import Config
from ksqlpy.connection import KafkaConnection
from ksqlpy.demo.expected import Record
from ksqlpy.errors import EngineProblem, reason_of
from ksqlpy.spark.clients import check_python
from ksqlpy.spark.kafka import Kafka
from ksqlpy.topicnames import OWN

__all__ = ["Reader", "borrowed", "produce", "written"]

BATCH = 500
"""Records between two looks at what became of them."""

TIMEOUT = 15.0
"""Seconds that the broker may take for an answer."""


@contextlib.contextmanager
def borrowed(config: Config, topics: Sequence[str]) -> Iterator[None]:
    """Makes topics of one partition on brokers that are not the demo's own; deletes them, and those of the service.

    They keep records of past years. Raises EngineProblem ``topics-in-use`` where one is there already, and what the
    brokers answer.
    """
    connection = config.connection()
    check_python(connection)
    kafka = Kafka(connection)
    kafka.check()
    used = sorted(set(topics) & set(kafka.topics()))
    if used:
        raise EngineProblem(
            "topics-in-use",
            f"the brokers have a topic {used[0]} already, and the demo makes and deletes it",
            hint="use other brokers, or delete it if it is of an earlier demo",
        )
    try:
        for topic in topics:
            kafka.create_topic(topic, 1, None, {"retention.ms": "-1"})
        yield
    finally:
        own = f"{OWN}{config.get('ksql.service.id')}"
        kafka.delete_topics([t for t in kafka.topics() if t in topics or t.startswith(own)])


def produce(
    connection: KafkaConnection,
    topic: str,
    records: Iterable[tuple[bytes, bytes]],
    sent: Callable[[int], None] = lambda n: None,
    *,
    time: int = 0,
) -> int:
    """Writes records as they come, in their order; ``sent`` is told how many so far. Gives their number.

    ``time``: of all records, in ms; 0: when they are written. Raises EngineProblem ``not-produced``
    when the broker does not take them.
    """
    failures: list[str] = []
    producer = Producer(
        connection.producer(
            {
                "acks": "all",
                "enable.idempotence": True,  # a batch that is sent again keeps its place
                "linger.ms": 2,
                "message.timeout.ms": int(TIMEOUT * 1000),
            }
        )
    )
    count = 0
    for key, value in records:
        producer.produce(
            topic,
            key=key,
            value=value,
            timestamp=time,
            on_delivery=lambda e, m: failures.append(reason_of(e)) if e else None,
        )
        count += 1
        if count % BATCH == 0:
            producer.poll(0)
            sent(count)
    left = producer.flush(TIMEOUT + 5)
    if left or failures:
        reason = failures[0] if failures else "the broker does not answer"
        raise EngineProblem("not-produced", f"{left + len(failures)} records were not written to {topic}: {reason}")
    sent(count)
    return count


def _consumer(connection: KafkaConnection, more: Mapping[str, object] | None = None) -> Consumer:
    return Consumer(
        connection.consumer(
            {
                "group.id": "ksqlpy-demo",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 20,
                **(more or {}),
            }
        )
    )


def written(connection: KafkaConnection, topics: Mapping[str, int]) -> dict[str, int]:
    """How many records there are in the first partition of each topic; so many are expected.

    Offsets tell, unless there are more: then the records are counted, since the marks with which brokers end producers
    have offsets, too. Raises EngineProblem ``broker-unavailable``.
    """
    consumer = _consumer(connection)
    try:
        ends = {t: consumer.get_watermark_offsets(TopicPartition(t, 0), timeout=TIMEOUT) for t in topics}
    except KafkaException as e:
        raise EngineProblem("broker-unavailable", f"the broker does not answer: {reason_of(e)}") from e
    finally:
        consumer.close()
    found = {t: 0 if end is None else end[1] - end[0] for t, end in ends.items()}
    return {t: n if n == topics[t] else _counted(connection, t) for t, n in found.items()}


def _counted(connection: KafkaConnection, topic: str) -> int:
    """Reads the first partition of a topic to its end, and counts."""
    consumer = _consumer(connection, {"enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    count, deadline = 0, time.monotonic() + TIMEOUT
    try:
        while time.monotonic() < deadline:
            for message in consumer.consume(1000, timeout=0.2):
                error = message.error()
                if error is None:
                    count += 1
                elif error.code() == KafkaError._PARTITION_EOF:
                    return count
        raise EngineProblem("broker-unavailable", f"topic {topic} cannot be read to its end")
    finally:
        consumer.close()


class Reader:
    """Reads topics of one partition from their start, in a thread; a context manager.

    ``read``: makes columns of a value. ``records``: what has come so far, by topic; ``first``: when the first record of
    all came, by ``time.monotonic()``.
    """

    def __init__(
        self, connection: KafkaConnection, topics: Sequence[str], read: Callable[[bytes], Mapping[str, object]]
    ) -> None:
        self._read = read
        self.records: Mapping[str, list[Record]] = {t: [] for t in topics}
        self.first: float | None = None
        self._consumer = _consumer(connection)
        self._consumer.assign([TopicPartition(t, 0, 0) for t in topics])
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="results", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join(timeout=TIMEOUT)

    def _run(self) -> None:
        while not self._stop.is_set():
            for message in self._consumer.consume(1000, timeout=0.05):
                topic = message.topic()
                if message.error() is not None or topic is None:
                    continue  # the broker is away: whoever waits for records sees that none come
                if self.first is None:
                    self.first = time.monotonic()
                self.records[topic].append(self._record(message.key(), message.value(), message.timestamp()[1]))
        self._consumer.close()

    def _record(self, key: bytes | None, value: bytes | None, time_ms: int) -> Record:
        return Record(key or b"", None if value is None else self._read(value), time_ms)
