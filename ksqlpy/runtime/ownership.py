"""One engine a service: two would write every result twice.

The engine that is assigned the only partition of the command log, as the member of a consumer group, owns the service.
A member that restarts on its data folder keeps its identity (static membership, KIP-345), so that it need not wait for
the session of its dead self to end.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException

from ksqlpy.errors import EngineProblem

__all__ = ["Ownership", "identity"]

log = logging.getLogger(__name__)

SESSION_SECONDS = 6
"""How long the brokers wait for a member that is gone; their least."""


def identity(folder: Path) -> str:
    """The identity of the engine that works in this folder; made at the first call."""
    file = folder / "engine.id"
    if not file.exists():
        file.write_text(uuid.uuid4().hex, encoding="utf-8")
    return file.read_text(encoding="utf-8").strip()


class Ownership:
    """The right to run the queries of a service. ``lost`` is set when another engine has it."""

    def __init__(self, bootstrap: str, group: str, topic: str, member: str) -> None:
        self.lost = threading.Event()
        self._group, self._topic = group, topic
        self._mine = threading.Event()
        self._since = time.monotonic()
        self._ended = threading.Event()
        self._fenced = threading.Event()
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "group.instance.id": member,
                # The others would give the partition to whoever comes first in the alphabet.
                "partition.assignment.strategy": "cooperative-sticky",
                "session.timeout.ms": SESSION_SECONDS * 1000,
                "heartbeat.interval.ms": 1500,
                "enable.auto.commit": False,
                "log_level": 0,
                "error_cb": self._error,
            }
        )
        self._thread = threading.Thread(target=self._run, name="ownership", daemon=True)

    def take(self) -> None:
        """Returns when this engine owns the service; raises EngineProblem ``service-taken`` when another one does."""
        try:
            self._consumer.subscribe([self._topic], on_assign=self._assigned, on_revoke=self._revoked)
        except KafkaException as e:
            raise EngineProblem("service-taken", f"the service cannot be taken: {e}") from e
        self._thread.start()
        if not self._mine.wait(2 * SESSION_SECONDS):
            self.release()
            raise EngineProblem(
                "service-taken",
                "another engine runs this service: two would write every result twice",
                hint="stop that one, or choose another ksql.service.id",
            )

    def release(self) -> None:
        """Gives it up."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(timeout=20)

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                self._consumer.poll(0.2)
            except (KafkaException, RuntimeError) as e:
                log.debug("ownership: %s", e)
                self._ended.wait(0.5)
            if self._fenced.is_set() or self._is_elsewhere():
                self.lost.set()
        self._consumer.close()

    def _is_elsewhere(self) -> bool:
        """Whether it was gone too long: brokers that were away, or a rebalance, take it for a while only."""
        gone = not self._mine.is_set() and time.monotonic() - self._since > 3 * SESSION_SECONDS
        return gone and self._brokers_answer()

    def _brokers_answer(self) -> bool:
        try:
            self._consumer.list_topics(self._topic, timeout=2)
        except KafkaException:
            self._since = time.monotonic()
            return False
        return True

    def _error(self, error: KafkaError) -> None:
        if error.fatal():  # another member came with this identity
            self._fenced.set()

    def _assigned(self, consumer: Any, partitions: Any) -> None:
        # Nothing is read: the engine reads the log by itself.
        if partitions:
            consumer.incremental_assign(partitions)
            consumer.pause(partitions)
            self._mine.set()

    def _revoked(self, consumer: Any, partitions: Any) -> None:
        consumer.incremental_unassign(partitions)
        self._since = time.monotonic()
        self._mine.clear()
