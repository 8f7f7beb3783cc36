"""Records of INSERT VALUES and DELETE on their way to the brokers.

Those that follow one another into a topic of one partition, which keeps their order, are on their way together.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ksqlpy.analysis import Insert
from ksqlpy.errors import EngineProblem, reason_of
from ksqlpy.functions.times import LATEST
from ksqlpy.sql import Parsed
from ksqlpy.tracing import record_headers, span

if TYPE_CHECKING:
    from confluent_kafka import KafkaError
    from pyspark.sql import SparkSession

    from ksqlpy.runtime.brokers import Brokers

__all__ = ["Record", "Writing", "check_time", "not_written"]

POLL = 0.05
"""Seconds of a wait for the brokers, between two looks."""

Record = tuple[bytes | None, bytes | None, int | None]
"""Key, value and time in ms (None: now)."""


@dataclass
class _Sent:
    parsed: Parsed
    made: Insert
    size: int
    done: list[KafkaError | None] = field(default_factory=list)


class Writing:
    """The records of one request that are on their way.

    ``session``: gives Spark's session; ``named``: puts the statement on an error that comes of it.
    """

    def __init__(
        self,
        brokers: Brokers,
        session: Callable[[], SparkSession],
        named: Callable[[Parsed], AbstractContextManager[None]],
    ) -> None:
        self._brokers = brokers
        self._session = session
        self._named = named
        self._sent: list[_Sent] = []
        self._headers = record_headers(brokers.config)
        self._single: dict[str, bool] = {}
        """Topics, and whether they have one partition, which keeps the order of what is on its way."""

    def send(self, parsed: Parsed, made: Insert, record: Record) -> None:
        """Sends a record, behind all of other topics. Raises EngineProblem ``not-inserted``."""
        from confluent_kafka import KafkaException  # not needed to check a statement

        topic, (key, value, time) = made.source.topic, record
        check_time(time)
        if self._sent and (self._sent[-1].made.source.topic != topic or not self._keeps_order(topic)):
            self.settle()
        if time == 0:  # which librdkafka takes for none
            self.settle()
            problem = self._brokers.kafka.write_at_epoch(self._session(), topic, key, value, self._headers)
            if problem is not None:
                message = f"the record was not written to topic {topic}: {problem}"
                raise EngineProblem("not-inserted", message, error_code=50000)
            return
        sent = _Sent(parsed, made, len(key or b"") + len(value or b""))
        options: dict[str, Any] = {} if time is None else {"timestamp": time}
        if self._headers:
            options["headers"] = self._headers
        producer = self._brokers.producer

        def produce() -> None:
            producer.produce(topic, key=key, value=value, on_delivery=lambda e, m: sent.done.append(e), **options)

        try:
            try:
                produce()
            except BufferError:  # too many wait
                self.settle()
                produce()
        except KafkaException as e:
            sent.done.append(e.args[0])
        except BufferError:  # those of other requests
            raise not_written(topic, None, sent.size) from None
        self._sent.append(sent)
        producer.poll(0)
        if sent.done:
            self.settle()

    def _keeps_order(self, topic: str) -> bool:
        if topic not in self._single:
            self._single[topic] = self._brokers.kafka.partitions({topic}).get(topic) == 1
        return self._single[topic]

    def settle(self) -> None:
        """Waits until the brokers have all that was sent. Raises EngineProblem ``not-inserted`` for the first lost."""
        from ksqlpy.spark.kafka import TIMEOUT

        sent, self._sent = self._sent, []
        if not sent:
            return
        end = clock.monotonic() + TIMEOUT
        with span("records", {"messaging.system": "kafka", "messaging.batch.message_count": len(sent)}):
            for one in sent:
                while not one.done and clock.monotonic() < end:  # not for what other requests have sent
                    self._brokers.producer.poll(POLL)
                if not one.done or one.done[0] is not None:
                    with self._named(one.parsed):
                        raise not_written(one.made.source.topic, one.done[0] if one.done else None, one.size)


def check_time(time: int | None) -> None:
    """Raises EngineProblem ``not-inserted`` for a time that Kafka's records cannot have."""
    if time is not None and time < 0:
        raise EngineProblem("not-inserted", f"ROWTIME {time} is before 1970", error_code=40001)
    if time is not None and time > LATEST:
        raise EngineProblem("not-inserted", f"ROWTIME {time} is too late for milliseconds", error_code=40001)


def not_written(topic: str, error: KafkaError | None, size: int) -> EngineProblem:
    """Why a record of this size is not in a topic; ``error``: None where the brokers do not answer."""
    from confluent_kafka import KafkaError

    from ksqlpy.spark.kafka import error_code_of

    reason, code, hint = "the brokers do not answer", 50000, None
    if error is not None:
        reason, code = reason_of(error), error_code_of(error)
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            reason = f"it has {size:,} bytes, which are too many for the topic"
            hint = f"max.message.bytes of topic {topic} says how many it takes"
    message = f"the record was not written to topic {topic}: {reason}"
    return EngineProblem("not-inserted", message, hint=hint, error_code=code)
