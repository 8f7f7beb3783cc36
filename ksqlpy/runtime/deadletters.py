"""Counts the dead letters of every query, by reading the dead-letter topic."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from confluent_kafka import TopicPartition

from ksqlpy.deadletters import HEADERS, RESULT
from ksqlpy.spark.kafka import Kafka

__all__ = ["DeadLetters", "kind_of"]


class DeadLetters:
    """A live count by query id, right also after a restart since the topic is read from its start."""

    def __init__(self, kafka: Kafka, topic: str) -> None:
        self.topic = topic
        self._kafka = kafka
        self._counts: dict[str, dict[str, int]] = {}
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

    def of(self, query_id: str) -> Mapping[str, int]:
        """Dead letters of the query so far, by kind."""
        return self._counts.get(query_id, {})

    def count(self, query_id: str) -> int:
        """Dead letters of the query so far."""
        return sum(self.of(query_id).values())

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
                header = headers.get(HEADERS["reason"])
                reason = header.decode() if isinstance(header, bytes) else None
                name, kind = query.decode(), kind_of(reason or "", result=RESULT in headers)
                counts = self._counts.get(name, {})
                self._counts[name] = {**counts, kind: counts.get(kind, 0) + 1}
                if reason is not None:
                    self._last[name] = reason
        consumer.close()


def kind_of(reason: str, *, result: bool) -> str:
    """One of four kinds, for metrics: there is no end of reasons. ``result``: the letter is a result."""
    if "too large: " in reason:
        return "too_large"
    return "skipped" if reason.startswith("skipped by ") else "unwritable" if result else "unreadable"
