"""One engine a service: two would write every result twice.

The engine that is assigned the only partition of the command log, as the member of a consumer group, owns the service.
A member that restarts on its data folder keeps its identity (static membership, KIP-345), so that it need not wait for
the session of its dead self to end. A copy of the folder has that identity, too: brokers give the service to whoever
comes last, so an engine that comes with the identity of another place waits until that one's session has ended.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException

from ksqlpy.embedded.cache import digest
from ksqlpy.errors import EngineProblem, EnvironmentProblem, reason_of
from ksqlpy.spark.kafka import Kafka

__all__ = ["Ownership", "identity", "place_of"]

log = logging.getLogger(__name__)

SESSION_SECONDS = 6
"""How long the brokers wait for a member that is gone; their least."""
PATIENCE = 3.0 * SESSION_SECONDS
"""Seconds without the service after which somebody else may have it."""
GRANTED = 90.0
"""Seconds in which brokers must assign the service to an engine that is alone."""
LEAVING = 5.0
"""Seconds that leaving the group may take; brokers that are away would see the end of the session only."""


def identity(folder: Path) -> str:
    """The identity of the engine that works in this folder; made at the first call."""
    file = folder / "engine.id"
    if not file.exists():
        file.write_text(uuid.uuid4().hex, encoding="utf-8")
    return file.read_text(encoding="utf-8").strip()


def place_of(folder: Path) -> str:
    """Stands for this folder on this machine, as the name of a Kafka client."""
    return f"ksqlpy-engine-{digest(socket.gethostname(), str(folder.resolve()))}"


class Ownership:
    """The right to run the queries of a service.

    ``place``: where this engine works, see :func:`place_of`. ``doubtful`` is set while another engine may have the
    service, ``lost`` when it has.
    """

    def __init__(self, kafka: Kafka, group: str, topic: str, member: str, place: str = "") -> None:
        self.lost = threading.Event()
        self.doubtful = threading.Event()
        self._place = place or member
        self._kafka, self._group, self._topic, self._member = kafka, group, topic, member
        self._mine = threading.Event()
        self._had = False
        """Whether it was ours once: a standby that waits has nothing to lose."""
        self._since = time.monotonic()
        self._ended = threading.Event()
        self._given_up = threading.Event()
        self._consumer = self._made()
        self._thread = threading.Thread(target=self._run, name="ownership", daemon=True)

    def _made(self) -> Consumer:
        return Consumer(
            self._kafka.connection.consumer(
                {
                    "group.id": self._group,
                    "group.instance.id": self._member,
                    "client.id": self._place,
                    # The others would give the partition to whoever comes first in the alphabet.
                    "partition.assignment.strategy": "cooperative-sticky",
                    "session.timeout.ms": SESSION_SECONDS * 1000,
                    "heartbeat.interval.ms": 500,
                    "enable.auto.commit": False,
                }
            )
        )

    def take(self, waiting: Callable[[], None] | None = None) -> None:
        """Returns when this engine owns the service; raises EngineProblem ``service-taken`` when another one does.

        ``waiting``: is called now and then while another one does, and this engine waits as its standby until that one
        is gone, or :meth:`give_up` is called.
        """
        self._wait_for_other_place()
        try:
            self._subscribe()
        except KafkaException as e:
            raise EngineProblem("service-taken", f"the service cannot be taken: {reason_of(e)}") from e
        self._thread.start()
        end = time.monotonic() + GRANTED
        while not self._wait_until_mine():
            if self._others() and waiting is not None and not self._given_up.is_set():
                waiting()
                end = time.monotonic() + GRANTED
            elif self._others():
                self.release()
                raise EngineProblem(
                    "service-taken",
                    "another engine runs this service: two would write every result twice",
                    hint="stop that one, or choose another ksql.service.id",
                )
            if time.monotonic() > end:  # nobody has it, the brokers are slow
                self.release()
                raise EnvironmentProblem(
                    "broker-unavailable",
                    f"the brokers have not assigned the service to this engine in {GRANTED:g} s",
                    hint="see whether all brokers run",
                )

    def give_up(self) -> None:
        """Ends the wait of a standby."""
        self._given_up.set()

    def _wait_until_mine(self) -> bool:
        end = time.monotonic() + 2 * SESSION_SECONDS
        while not self._mine.wait(0.2) and not self._given_up.is_set() and time.monotonic() < end:
            pass
        return self._mine.is_set()

    def _others(self) -> bool:
        """Whether the group has members besides this engine."""
        try:
            return bool(self._kafka.members_of(self._group) - {self._member})
        except EnvironmentProblem:
            return False

    def _wait_for_other_place(self) -> None:
        end = time.monotonic() + 2 * SESSION_SECONDS
        while (client := self._client()) is not None and client[0] != self._place:
            if time.monotonic() > end:
                raise EngineProblem(
                    "service-taken",
                    f"an engine at {client[1]} runs this service, on a copy of this data folder",
                    hint="stop that one; a copy of a folder is used in its stead only",
                )
            time.sleep(0.5)

    def _client(self) -> tuple[str, str] | None:
        try:
            return self._kafka.client_of(self._group, self._member)
        except EnvironmentProblem:  # a new cluster may not know yet who coordinates the group
            return None

    def release(self) -> None:
        """Gives it up."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(timeout=LEAVING)

    def hand_over(self) -> None:
        """Gives it to a standby: this engine has lost it from now on."""
        self.doubtful.set()
        self.lost.set()
        self.release()

    def _subscribe(self) -> None:
        self._consumer.subscribe([self._topic], on_assign=self._assigned, on_revoke=self._revoked)

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                told = self._consumer.poll(0.2)
                error = None if told is None else told.error()
                if error is not None and error.code() == KafkaError._FATAL:  # another came with this identity
                    self.doubtful.set()
                    self._come_again()
                elif self._is_elsewhere():
                    self.doubtful.set()
                    self.lost.set()
            except (KafkaException, RuntimeError) as e:
                log.debug("ownership: %s", e)
                self._ended.wait(0.5)
        self._leave()

    def _leave(self) -> None:
        """Leaves the group. A member with an identity that only closes stays in it until its session ends."""
        with contextlib.suppress(KafkaException, RuntimeError):
            self._consumer.unsubscribe()
            self._consumer.poll(0.2)
        self._consumer.close()

    def _come_again(self) -> None:
        """Joins the group anew, when nobody is in it; who is there for longer than a session is another engine.

        Brokers that were killed may remember an older self of this engine and refuse it; that one's session ends.
        """
        end = time.monotonic() + PATIENCE
        while not self._ended.wait(1):
            members = self._members()
            if members is None:
                end = time.monotonic() + PATIENCE
            elif not members:
                self._consumer.close()
                self._consumer = self._made()
                self._mine.clear()
                self._since = time.monotonic()
                self._subscribe()
                return
            elif self._had and time.monotonic() > end:
                self.lost.set()

    def _is_elsewhere(self) -> bool:
        """Whether another engine has it, if it was gone for long.

        Brokers that were away, a rebalance, or a machine that is busy take it for a while only.
        """
        now = time.monotonic()
        if not self._had or self._mine.is_set() or now - self._since < PATIENCE:
            return False
        members = self._members()
        self._since = now if members is None else now - PATIENCE + 2
        return members is not None and any(owns for member, owns in members.items() if member != self._member)

    def _members(self) -> dict[str, bool] | None:
        try:
            return self._kafka.members(self._group)
        except EnvironmentProblem:
            return None

    def _assigned(self, consumer: Any, partitions: Any) -> None:
        # Nothing is read: the engine reads the log by itself.
        if partitions:
            consumer.incremental_assign(partitions)
            consumer.pause(partitions)
            self._had = True
            self._mine.set()
            if not self.lost.is_set():
                self.doubtful.clear()

    def _revoked(self, consumer: Any, partitions: Any) -> None:
        consumer.incremental_unassign(partitions)
        self._since = time.monotonic()
        self._mine.clear()
