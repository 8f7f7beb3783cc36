"""Lines as records of a topic, which no statement writes or deletes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from ksqlpy.connection import KafkaConnection
from ksqlpy.connection.reading import Reader
from ksqlpy.errors import EnvironmentProblem, KsqlError, reason_of
from ksqlpy.topicnames import audit_log

__all__ = ["Topic", "last_records"]

TIMEOUT = 30.0
"""Seconds after which a record that the brokers have not taken is lost."""
AGAIN = 30.0
"""Seconds after which brokers that were away are tried again; meanwhile other places must not wait for them."""
ENDING = 3.0
"""Seconds that records get to arrive at the end."""
WAITING_KB = 16 * 1024
"""Of records that wait for brokers that are away; more are lost."""


class Topic:
    """The topic is made when the first line comes, with one partition, so that its records are in order."""

    name = "topic"
    problem = ""

    def __init__(self, connection: Callable[[], KafkaConnection], service: str) -> None:
        """``connection``: gives how the brokers are reached, once that is known."""
        self._connection = connection
        self._topic = audit_log(service)
        self._producer: Producer | None = None
        self._not_before = float("-inf")
        self._lost = 0

    def write(self, lines: Sequence[bytes]) -> int:
        """Sends lines; gives how many of those that were sent are known to be lost since the last call."""
        if self._producer is None:
            if not lines or time.monotonic() < self._not_before:
                return len(lines)
            try:
                connection = self._connection()
                if not connection.bootstrap:  # for a moment, while the server starts
                    self.problem = "no broker is known yet"
                    return len(lines)
                self._begin(connection)
            except (OSError, KsqlError, KafkaException) as e:
                self.problem, self._not_before = reason_of(e), time.monotonic() + AGAIN
                return len(lines)
        producer = self._producer
        assert producer is not None
        for line in lines:
            try:
                producer.produce(self._topic, line.rstrip(b"\n"), on_delivery=self._heard)
            except (BufferError, KafkaException) as e:
                self.problem = reason_of(e)
                self._lost += 1
            producer.poll(0)
        if not lines:
            producer.poll(0)
        return self._taken()

    def close(self) -> int:
        """Waits for a moment for what is on its way."""
        if self._producer is None:
            return 0
        return self._producer.flush(ENDING) + self._taken()

    def _taken(self) -> int:
        lost, self._lost = self._lost, 0
        return lost

    def _heard(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.problem = error.str()
            self._lost += 1

    def _begin(self, connection: KafkaConnection) -> None:
        admin = AdminClient(connection.admin({"socket.timeout.ms": 5_000}))
        made = admin.create_topics([NewTopic(self._topic, 1)], request_timeout=5.0)
        try:
            made[self._topic].result(6.0)
        except KafkaException as e:
            error: KafkaError = e.args[0]
            if error.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
        settings = {
            "enable.idempotence": True,
            "message.timeout.ms": int(TIMEOUT * 1000),
            "queue.buffering.max.kbytes": WAITING_KB,
        }
        self._producer = Producer(connection.producer(settings))


def last_records(connection: KafkaConnection, service: str, most: int, wait: float) -> list[bytes]:
    """The lines that the topic of a service has at its end; none where there is no topic yet.

    ``wait``: seconds. Raises EnvironmentProblem ``broker-unavailable``.
    """
    topic, end = audit_log(service), time.monotonic() + wait
    reader = Reader(connection.consumer({"group.id": "ksqlpy-audit", "enable.auto.commit": False}))
    found: list[bytes] = []
    try:
        if not reader.list_topics(topic, timeout=wait).topics[topic].partitions:
            return []
        low, high = reader.get_watermark_offsets(TopicPartition(topic, 0), timeout=wait)
        at = max(low, high - most)
        reader.assign([TopicPartition(topic, 0, at)])
        while at < high and time.monotonic() < end:
            message = reader.poll(1.0)
            if message is None or message.error() is not None:
                continue
            offset, value = message.offset(), message.value()
            at = high if offset is None else offset + 1
            if isinstance(value, bytes):
                found.append(value)
    except KafkaException as e:
        problem = f"the topic {topic} of the audit log cannot be read: {reason_of(e)}"
        raise EnvironmentProblem("broker-unavailable", problem) from e
    finally:
        reader.close()
    return found
