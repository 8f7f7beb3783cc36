"""Counts the dead letters of every query, by reading the dead-letter topic."""

from __future__ import annotations

import threading
from collections import Counter

from confluent_kafka import TopicPartition

from ksqlpy.deadletters import HEADERS
from ksqlpy.spark.kafka import Kafka

__all__ = ["DeadLetters"]


class DeadLetters:
    """A live count by query id, right also after a restart since the topic is read from its start."""

    def __init__(self, kafka: Kafka, topic: str) -> None:
        self.topic = topic
        self._kafka = kafka
        self._counts: Counter[str] = Counter()
        self._last: dict[str, str] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dead letters", daemon=True)

    def start(self) -> None:
        """Makes the topic if there is none, and begins to count."""
        if self.topic not in self._kafka.topics():
            self._kafka.create_topic(
                self.topic, 1, None, {"retention.ms": "-1", "message.timestamp.after.max.ms": str(2**63 - 1)}
            )
        self._thread.start()

    def stop(self) -> None:
        """Ends the counting."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def count(self, query_id: str) -> int:
        """Dead letters of the query so far."""
        return self._counts[query_id]

    def last_reason(self, query_id: str) -> str | None:
        """The reason of the query's last dead letter."""
        return self._last.get(query_id)

    def _run(self) -> None:
        consumer = self._kafka.reader()
        consumer.assign([TopicPartition(self.topic, 0, 0)])
        while not self._stop.is_set():
            message = consumer.poll(0.5)
            if message is None or message.error() is not None:
                continue
            headers = dict(message.headers() or [])
            query = headers.get(HEADERS["query"])
            if isinstance(query, bytes):
                self._counts[query.decode()] += 1
                reason = headers.get(HEADERS["reason"])
                if isinstance(reason, bytes):
                    self._last[query.decode()] = reason.decode()
        consumer.close()
