"""The result topics: where they end now, and all that they hold."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from ksqlpy.connection import KafkaConnection
from tests.chaos.records import Result
from tests.harness.problem import HarnessProblem

__all__ = ["Topics"]

TIMEOUT = 3.0
"""Seconds that an answer about offsets may take."""
READ = 300.0
"""Seconds that reading a topic may take."""


class Topics:
    """A look at topics from outside of the server; ``decode``: makes JSON of the value of a result."""

    def __init__(self, connection: KafkaConnection, decode: Callable[[bytes | None], bytes | None]) -> None:
        self._connection = connection
        self._decode = decode
        self._counter: Consumer | None = None
        self._next: dict[tuple[str, int], int] = {}
        self._counts: dict[str, int] = {}
        self._admin = AdminClient(connection.admin({"reconnect.backoff.max.ms": 500, "socket.timeout.ms": 5000}))

    def partitions(self, topics: Sequence[str]) -> dict[str, int]:
        """How many partitions the topics have; raises HarnessProblem ``topics-unavailable``."""
        try:
            known = self._admin.list_topics(timeout=15).topics
            return {t: len(known[t].partitions) for t in topics}
        except (KafkaException, KeyError) as e:
            raise HarnessProblem("topics-unavailable", f"the topics {', '.join(topics)} are not all there: {e}") from e

    def ends(self, partitions: Mapping[str, int]) -> dict[str, int] | None:
        """The end offsets of the topics, all partitions added up; None when the broker does not answer."""
        found = self._offsets(partitions)
        return None if found is None else {t: sum(ends) for t, ends in found.items()}

    def _offsets(self, partitions: Mapping[str, int]) -> dict[str, list[int]] | None:
        spec = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # confluent_kafka has no types for it
        wanted = {TopicPartition(t, p): spec for t, n in partitions.items() for p in range(n)}
        found = {t: [0] * n for t, n in partitions.items()}
        try:
            for place, answer in self._admin.list_offsets(wanted, request_timeout=TIMEOUT).items():
                found[place.topic][place.partition] = answer.result(timeout=TIMEOUT).offset
        except (KafkaException, TimeoutError):
            # The client knows the leaders from before the broker came back, and would not ask anew for minutes.
            with contextlib.suppress(KafkaException):
                self._admin.list_topics(timeout=TIMEOUT)
            return None
        return found

    def count(self, partitions: Mapping[str, int]) -> dict[str, int] | None:
        """How many records the topics have; None when the broker does not answer. The same topics at each call.

        Offsets do not tell: control records, which end producers of before, take one each.
        """
        ends = self._offsets(partitions)
        if ends is None:
            return None
        if self._counter is None:
            self._counter = self._consumer()
            self._next = {(t, p): 0 for t, n in partitions.items() for p in range(n)}
            self._counter.assign([TopicPartition(t, p, 0) for t, p in self._next])
            self._counts = dict.fromkeys(partitions, 0)
        deadline = time.monotonic() + TIMEOUT
        while any(self._next[t, p] < end for t, found in ends.items() for p, end in enumerate(found)):
            if time.monotonic() > deadline:
                return None
            for message in self._counter.consume(5000, 0.1):
                place = (message.topic() or "", message.partition() or 0)
                error = message.error()
                if error is None:
                    self._counts[place[0]] += 1
                    self._next[place] = (message.offset() or 0) + 1
                elif error.name() == "_PARTITION_EOF":
                    self._next[place] = message.offset() or 0
        return dict(self._counts)

    def close(self) -> None:
        """Ends its connections."""
        if self._counter is not None:
            self._counter.close()
            self._counter = None

    def _consumer(self) -> Consumer:
        return Consumer(
            self._connection.consumer(
                {
                    "group.id": "ksqlpy-chaos",
                    "enable.auto.commit": False,
                    "auto.offset.reset": "earliest",
                    "isolation.level": "read_uncommitted",
                    "enable.partition.eof": True,
                    "reconnect.backoff.max.ms": 500,
                }
            )
        )

    def read(self, topic: str, partitions: int) -> list[Result]:
        """All records of a topic, partition by partition in order, also those of transactions that came to nothing.

        Raises HarnessProblem ``topics-unavailable`` when they cannot be read in time.
        """
        found = self._offsets({topic: partitions})
        if found is None:
            raise HarnessProblem("topics-unavailable", f"the broker does not say where {topic} ends")
        left = {p: end for p, end in enumerate(found[topic]) if end > 0}
        consumer = self._consumer()
        results: list[Result] = []
        deadline = time.monotonic() + READ
        try:
            if left:
                consumer.assign([TopicPartition(topic, p, 0) for p in left])
            while left:
                if time.monotonic() > deadline:
                    raise HarnessProblem("topics-unavailable", f"{topic} cannot be read within {READ:g} s")
                for message in consumer.consume(5000, 0.5):
                    partition, offset = message.partition() or 0, message.offset() or 0
                    error = message.error()
                    if error is None:
                        results.append(Result(partition, offset, message.key(), self._decode(message.value())))
                    # The end of a partition counts too: its last offsets may be marks of transactions.
                    if (error is None and offset >= left.get(partition, 0) - 1) or (
                        error is not None and error.name() == "_PARTITION_EOF"
                    ):
                        left.pop(partition, None)
        finally:
            consumer.close()
        return sorted(results, key=lambda r: (r.partition, r.offset))
