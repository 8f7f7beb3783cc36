"""Records written in transactions that also note, as offsets of a consumer group, how far their writer came.

So the note is true whatever ends. Kafka lets one producer at a time use a name: who begins ends the transaction of who
had it before, and knows by the note where to go on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from ksqlpy.access import ASKS
from ksqlpy.atwork import step, working
from ksqlpy.errors import KsqlError
from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.writing import Record, not_written
from ksqlpy.spark.kafka import TIMEOUT, error_code_of

__all__ = ["Progress", "owner_in_names"]

log = logging.getLogger(__name__)

TRANSACTION = 20.0
"""Seconds after which the brokers end a transaction that a killed server has left; a record is given up before."""

_ABORT = 5.0
"""Seconds that the end of a failed transaction gets at least."""

_PAUSE = 0.1
"""Seconds between two attempts, and between two looks at what is on its way."""

_MARKED = 0.5
"""Seconds within which the brokers mark a committed transaction in its topic, unless another one is open there."""
_LOOK = 0.005
"""Seconds between two looks for these marks."""

_SETTINGS = {
    "transaction.timeout.ms": int(TRANSACTION * 1000),
    "retry.backoff.ms": 20,  # the end of the transaction before is asked for so often
    "delivery.report.only.error": True,  # what is written is known when the transaction is committed
}
_PURGED = {"_PURGE_QUEUE", "_PURGE_INFLIGHT"}
"""What is reported of records that go with their transaction."""
_FENCED = {"_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"}
"""A younger producer has the name, or the brokers have ended a transaction that took too long."""

Note = Callable[[int], Sequence[TopicPartition]]
"""The offsets that are noted with so many records, the first ones of those that are written."""


def owner_in_names() -> str:
    """Who asks, as it stands in the names of what is a principal's own; empty where there is no login."""
    who = ASKS.get()
    return f"{who.how}:{quote(who.name, safe='')}" if who is not None and who.name else ""


class Progress:
    """The producer of a name, which is that of its transactions and of its group."""

    def __init__(self, brokers: Brokers, name: str, settings: Mapping[str, object], taken: KsqlError) -> None:
        """``settings``: of the producer; ``taken``: what :meth:`write` says when another one has taken the name."""
        self._brokers = brokers
        self._name = name
        self.taken = taken
        own = {**settings, **_SETTINGS, "transactional.id": name}
        self._producer: Producer | None = Producer(brokers.connection.producer(own))
        self._lost: dict[int, KafkaError] = {}
        self.headers: list[tuple[str, bytes]] = []
        """Those of all records."""

    def begin(self, places: Sequence[TopicPartition]) -> list[int]:
        """Ends what an earlier producer of this name has begun, and gives the offsets that are noted of these places.

        One below 0 stands for none. Raises EngineProblem ``not-inserted``.
        """
        assert self._producer is not None
        try:
            self._producer.init_transactions(TIMEOUT)
        except KafkaException as e:
            raise not_written(places[0].topic, e.args[0], 0) from e
        return [int(place.offset) for place in self.noted(places)]

    def noted(self, places: Sequence[TopicPartition]) -> list[TopicPartition]:
        """What is noted of these places, by whoever had the name last. Raises EngineProblem ``not-inserted``."""
        # By its isolation it waits for the note of a transaction that has just ended.
        group = {"group.id": self._name, "enable.auto.commit": False, "isolation.level": "read_committed"}
        consumer = Consumer(self._brokers.connection.consumer(group))
        try:
            found = consumer.committed(list(places), timeout=TIMEOUT)
            for place in found:
                if place.error is not None:
                    raise KafkaException(place.error)
            self._group = consumer.consumer_group_metadata()
        except KafkaException as e:
            raise not_written(places[0].topic, e.args[0], 0) from e
        finally:
            consumer.close()
        return found

    def write(
        self, topic: str, records: Sequence[Record], note: Note, *, whole: bool = False
    ) -> tuple[int, KsqlError | None]:
        """Writes records with their note; gives how many are there, and why the next one is not.

        Those that are there can be read when it returns. ``whole``: all of them or none. Where the brokers do not say
        what became of them none is there, as far as is known: who begins again knows more.
        """
        count, problem = self._write(topic, records, note, whole)
        if count:
            self._readable(topic)
        return count, problem

    def _write(self, topic: str, records: Sequence[Record], note: Note, whole: bool) -> tuple[int, KsqlError | None]:
        end, problem = time.monotonic() + TIMEOUT, None
        while (failed := self._attempt(topic, records, note(len(records)), end)) is not None:
            error, aborted = failed
            if error.name() in _FENCED:
                return 0, self.taken
            if aborted and self._lost:
                bad = min(self._lost)
                key, value, _ = records[bad]
                problem = not_written(topic, self._lost[bad], len(key or b"") + len(value or b""))
                records = records[:bad]
                if whole or not records:
                    return 0, problem
            elif not aborted or error_code_of(error) != 50000:
                return 0, not_written(topic, error, 0)
            if time.monotonic() > end:
                return 0, problem or not_written(topic, error, 0)
            time.sleep(_PAUSE)
        return len(records), problem

    def _readable(self, topic: str) -> None:
        """Waits until readers of committed records get what is committed.

        Brokers report a commit when it is decided, and mark the partitions afterwards: KIP-98, section 5.
        """
        kafka, until = self._brokers.kafka, time.monotonic() + _MARKED
        try:
            partitions = self._brokers.topics.partitions([topic])
            ends = kafka.offsets(partitions, latest=True)[topic]
            while any(
                stable < ends[p] for p, stable in kafka.offsets(partitions, latest=True, committed=True)[topic].items()
            ):
                if time.monotonic() > until:
                    return
                time.sleep(_LOOK)
        except KsqlError as e:  # it is committed all the same
            log.warning("whether the records in %s can be read is not known: %s", topic, e)

    def _attempt(
        self, topic: str, records: Sequence[Record], note: Sequence[TopicPartition], end: float
    ) -> tuple[KafkaError, bool] | None:
        """Writes records in a transaction; None, or the error, and whether it is aborted, so that none is there."""
        producer = self._producer
        assert producer is not None
        self._lost = {}
        error: KafkaError
        may_abort = True
        try:
            producer.begin_transaction()
            with working():
                for number, (key, value, at) in enumerate(records):
                    options: dict[str, Any] = {} if at is None else {"timestamp": at}
                    if self.headers:
                        options["headers"] = self.headers
                    lost = partial(self._heard, number)
                    producer.produce(topic, key=key, value=value, on_delivery=lost, **options)
                    step()
            _patiently(partial(producer.send_offsets_to_transaction, list(note), self._group), end)
            # Behind a lost record the others would not be sent, and the commit would wait for them.
            while not self._lost and producer.flush(_PAUSE) and time.monotonic() < end:
                pass
            if not self._lost:
                may_abort = False
                _patiently(producer.commit_transaction, end)
                return None
            error = self._lost[min(self._lost)]
        except KafkaException as e:
            error = e.args[0]
            if error.fatal() or not (may_abort or error.txn_requires_abort()):
                return error, False
        try:
            _patiently(producer.abort_transaction, max(end, time.monotonic() + _ABORT))
        except KafkaException as e:
            return e.args[0], False
        return error, True

    def _heard(self, number: int, error: KafkaError | None, message: object) -> None:
        if error is not None and error.name() not in _PURGED:
            self._lost[number] = error

    def close(self) -> None:
        """Ends it; the brokers end what it has begun."""
        self._producer = None


def _patiently(call: Callable[[float], Any], end: float) -> None:
    """Calls it again as long as brokers may still answer. Raises KafkaException."""
    while True:
        try:
            call(max(0.1, end - time.monotonic()))
            return
        except KafkaException as e:
            if not e.args[0].retriable() or time.monotonic() > end:
                raise
