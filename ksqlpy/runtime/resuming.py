"""Streams of rows that a client goes on with after its connection, or the server, has ended: each row is written once.

Such a stream has an id. Its rows are written in transactions, and each of these also notes how many rows there are, as
the offset of a consumer group on the target's topic. So the note is true whatever ends, and goes when the topic does.
Kafka lets one producer at a time use the name of the stream: who opens it ends the transaction of who had it before and
knows by the note where to go on. A row is acknowledged when its transaction is committed.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from ksqlpy.access import ASKS
from ksqlpy.atwork import step, working
from ksqlpy.catalog import Source
from ksqlpy.errors import ConfigProblem, EngineProblem, KsqlError
from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.catalog_service import CatalogService
from ksqlpy.runtime.insertrows import ROOM_BYTES, InsertStream, stopping
from ksqlpy.runtime.writing import Record, not_written
from ksqlpy.spark.kafka import TIMEOUT, error_code_of

__all__ = ["Resuming"]

MOST = 100
"""Streams with an id that may be open: each has a producer of its own."""

TRANSACTION = 20.0
"""Seconds after which the brokers end a transaction that a killed server has left; a record is given up before."""

_ABORT = 5.0
"""Seconds that the end of a failed transaction gets at least."""

_PAUSE = 0.1
"""Seconds between two attempts, and between two looks at what is on its way."""

_SETTINGS = {
    "transaction.timeout.ms": int(TRANSACTION * 1000),
    "retry.backoff.ms": 20,  # the end of the transaction before is asked for so often
    "delivery.report.only.error": True,  # what is written is known when the transaction is committed
}
_PURGED = {"_PURGE_QUEUE", "_PURGE_INFLIGHT"}
"""What is reported of records that go with their transaction."""
_FENCED = {"_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"}
"""A younger producer has the name, or the brokers have ended a transaction that took too long."""


class Resuming:
    """The streams with an id of an engine."""

    def __init__(self, brokers: Brokers, catalog_service: CatalogService) -> None:
        self._brokers = brokers
        self._catalog_service = catalog_service
        self._open: weakref.WeakSet[_ResumedStream] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._closed = False

    def open(
        self, target: str, source: Source, id: str, begin: int | None, settings: Mapping[str, object]
    ) -> InsertStream:
        """The stream of the principal that asks; who had it open before can write no more.

        ``begin``: the number of the first row that comes, None: the one behind those that are there. Raises
        ConfigProblem ``rows-missing``, EngineProblem ``too-many-inserts`` and ``not-inserted``.
        """
        with self._lock:
            if self._closed:
                raise stopping()
            if sum(not stream.closed for stream in self._open) >= MOST:
                said = f"{MOST} streams of rows with an id are open, which is the most"
                raise EngineProblem("too-many-inserts", said, hint="end one of them", error_code=42900)
        progress = _Progress(self._brokers, self._name(source.topic, id), source.topic, settings)
        standing = progress.begin()
        if begin is not None and begin > standing:
            said = f"row {begin} cannot come next: {standing} rows of id {id} are there"
            raise ConfigProblem("rows-missing", said, hint=f"begin with row {standing}")
        first = standing if begin is None else begin
        stream = _ResumedStream(self._brokers, self._catalog_service, target, source, first, progress, standing)
        with self._lock:
            self._open.add(stream)
        return stream

    def _name(self, topic: str, id: str) -> str:
        """The name of transactions and group: of the id of one principal on one topic."""
        who = ASKS.get()
        owner = f"{who.how}:{quote(who.name, safe='')}" if who is not None and who.name else ""
        return f"{self._brokers.topics.inserts}/{owner}/{topic}/{id}"

    def close(self) -> None:
        """Ends all."""
        with self._lock:
            self._closed = True
            streams = list(self._open)
        for stream in streams:
            stream.refuse(stopping())
            stream.close()


class _Progress:
    """The producer of a stream, and the note how far it came."""

    def __init__(self, brokers: Brokers, name: str, topic: str, settings: Mapping[str, object]) -> None:
        self._brokers = brokers
        self._name = name
        self._topic = topic
        own = {**settings, **_SETTINGS, "transactional.id": name}
        self._producer: Producer | None = Producer(brokers.connection.producer(own))
        self._lost: dict[int, KafkaError] = {}
        self.headers: list[tuple[str, bytes]] = []
        """Those of all records."""

    def begin(self) -> int:
        """Ends what an earlier producer of this name has begun, and gives the rows that are there.

        Raises EngineProblem ``not-inserted``.
        """
        assert self._producer is not None
        # By its isolation it waits for the note of a transaction that has just ended.
        group = {"group.id": self._name, "enable.auto.commit": False, "isolation.level": "read_committed"}
        consumer = Consumer(self._brokers.connection.consumer(group))
        try:
            self._producer.init_transactions(TIMEOUT)
            [found] = consumer.committed([TopicPartition(self._topic, 0)], timeout=TIMEOUT)
            if found.error is not None:
                raise KafkaException(found.error)
            self._group = consumer.consumer_group_metadata()
        except KafkaException as e:
            raise not_written(self._topic, e.args[0], 0) from e
        finally:
            consumer.close()
        return max(0, int(found.offset))

    def write(self, records: Sequence[Record], rows: int) -> tuple[int, KsqlError | None]:
        """Writes records, behind which there are so many rows; gives how many are there, and why the next one is not.

        Where the brokers do not say what became of them none is there, as far as is known: who begins again knows more.
        """
        end, before, problem = time.monotonic() + TIMEOUT, rows - len(records), None
        while records and (failed := self._attempt(records, before + len(records), end)) is not None:
            error, aborted = failed
            if error.name() in _FENCED:
                said = "another connection goes on with this id, or the brokers have ended its transaction"
                hint = "let one connection use an id at one time, and begin again to learn which rows are there"
                return 0, EngineProblem("insert-id-taken", said, hint=hint, error_code=40900)
            if aborted and self._lost:
                bad = min(self._lost)
                key, value, _ = records[bad]
                problem = not_written(self._topic, self._lost[bad], len(key or b"") + len(value or b""))
                records = records[:bad]
            elif not aborted or error_code_of(error) != 50000:
                return 0, not_written(self._topic, error, 0)
            if time.monotonic() > end:
                return 0, problem or not_written(self._topic, error, 0)
            time.sleep(_PAUSE)
        return len(records), problem

    def _attempt(self, records: Sequence[Record], rows: int, end: float) -> tuple[KafkaError, bool] | None:
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
                    producer.produce(self._topic, key=key, value=value, on_delivery=lost, **options)
                    step()
            note = [TopicPartition(self._topic, 0, rows)]
            _patiently(partial(producer.send_offsets_to_transaction, note, self._group), end)
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


class _ResumedStream(InsertStream):
    """The rows of a client that goes on where it was; what is taken is there."""

    most = 5_000  # a transaction

    def __init__(
        self,
        brokers: Brokers,
        catalog_service: CatalogService,
        target: str,
        source: Source,
        first: int,
        progress: _Progress,
        standing: int,
    ) -> None:
        super().__init__(brokers, catalog_service, target, source)
        self.taken = self.acked = self._first = first
        self.closed = False
        progress.headers = self._headers
        self._standing = standing
        self._progress = progress
        self._using = threading.Lock()

    @property
    def standing(self) -> int:
        """The rows that stood when the stream began."""
        return self._standing

    @property
    def has_room(self) -> bool:
        """Always: what was taken has arrived."""
        return True

    def write(self, lines: Sequence[bytes]) -> int:
        """Writes rows, and gives the number of those that are there."""
        with self._using:
            if self.closed or self.ended:
                return 0
            self._writing = True
            begin = self.taken
            try:
                self._write(lines)
            finally:
                self._writing = False
            return self.taken - begin

    def _write(self, lines: Sequence[bytes]) -> None:
        records: list[Record] = []
        problem: KsqlError | None = None
        size = 0
        try:
            self._follow()
            again = max(0, min(len(lines), self._standing - self.taken))  # they are there
            self._count(again)
            with working():
                for line in lines[again:]:
                    if size >= ROOM_BYTES:
                        break
                    key, value, at = self._record(line)
                    if at == 0:  # which librdkafka takes for none
                        raise EngineProblem("not-inserted", "ROWTIME 0 needs a stream without an id", error_code=40000)
                    records.append((key, value, at))
                    size += len(key or b"") + len(value or b"")
                    step()
        except KsqlError as e:
            problem = e
        if records:
            written, wrong = self._progress.write(records, self.taken + len(records))
            self._count(written)
            problem = wrong or problem
        if problem is not None:
            self.refuse(problem)

    def _count(self, rows: int) -> None:
        self.taken += rows
        self.acked += rows

    def close(self) -> None:
        """Nobody wants to hear of it any more, and it writes no more."""
        super().close()
        with self._using:
            self.closed = True
            self._progress.close()
