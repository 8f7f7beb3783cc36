"""Whether a standby is ready to take over, as the brokers know it: it is then a member of a consumer group for that.

So an engine whose JVM is gone knows without asking the standby whether somebody else recovers the queries sooner.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from typing import Any

from confluent_kafka import Consumer, KafkaException

from ksqlpy.errors import KsqlError
from ksqlpy.spark.kafka import Kafka

__all__ = ["Readiness"]

log = logging.getLogger(__name__)

_SESSION_MS = 6000
"""How long a standby that was killed stays a member; the least that brokers allow by default."""
_PAUSE = 0.5
"""Seconds between polls, without which a member counts as gone after minutes."""


class Readiness:
    """The group of one service's ready standbys; ``topic``: one that all of them may read, and of which none does."""

    def __init__(self, kafka: Kafka, group: str, topic: str) -> None:
        self._kafka, self._group, self._topic = kafka, group, topic
        self._over: threading.Event | None = None
        """Ends the membership of this engine; None while it is no member."""

    def say(self, *, ready: bool) -> None:
        """This engine is ready from now on, or it is no longer."""
        if ready and self._over is None:
            self._over = threading.Event()
            threading.Thread(target=self._run, args=(self._over,), name="readiness", daemon=True).start()
        elif not ready and self._over is not None:
            self._over.set()
            self._over = None

    def any(self) -> bool:
        """Whether an engine is ready; one that was killed counts as ready for six seconds more.

        Not if the brokers do not say, for whatever reason: then this engine has to recover the queries itself.
        """
        try:
            return bool(self._kafka.members(self._group))
        except (KsqlError, KafkaException) as e:
            log.warning("not known whether a standby is ready: %s", e)
            return False

    def _run(self, over: threading.Event) -> None:
        consumer = Consumer(
            self._kafka.connection.consumer(
                {"group.id": self._group, "session.timeout.ms": _SESSION_MS, "enable.auto.commit": False}
            )
        )
        with contextlib.suppress(KafkaException, RuntimeError):  # nobody hands over to it then
            consumer.subscribe([self._topic], on_assign=_assigned)
            while not over.wait(_PAUSE):
                consumer.poll(0)
        consumer.close()


def _assigned(consumer: Any, partitions: Any) -> None:
    consumer.assign(partitions)
    if partitions:
        consumer.pause(partitions)  # nothing is read
