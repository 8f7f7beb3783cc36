"""Rows that clients send one after the other, each on its way to the brokers while the next ones come.

Streams of rows share producers. These are idempotent, so that what is sent again is not written twice, and records of
a partition lie in the order in which their rows came. A thread hears what became of the records. A stream says how many
of its rows, from the first one on, the brokers have: behind a row that was not written none counts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException, Producer

from ksqlpy.access import ASKS, Need, Right, Thing, require
from ksqlpy.analysis.inserts import streamed_name, streamed_target
from ksqlpy.atwork import step, working
from ksqlpy.catalog import Source
from ksqlpy.connection import KafkaConnection
from ksqlpy.errors import AnalysisProblem, ConfigProblem, EngineProblem, KsqlError
from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.catalog_service import CatalogService
from ksqlpy.runtime.insertrows import ROOM, ROOM_BYTES, InsertStream, stopping
from ksqlpy.runtime.resuming import Resuming
from ksqlpy.runtime.writing import not_written
from ksqlpy.spark.kafka import TIMEOUT
from ksqlpy.topicnames import is_internal

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message
    from pyspark.sql import SparkSession

__all__ = ["InsertStreams"]

_BATCH = 1_000_000
"""Bytes that are sent at once; topics take 1,048,588 unless they are told otherwise."""

_LISTENS = 0.2
"""Seconds for which the thread waits for the brokers, between two looks at whether it is wanted."""

_SETTINGS = {
    "enable.idempotence": True,  # with it acks is all, and order is kept
    "linger.ms": 2,
    "queue.buffering.max.kbytes": 2**18,
    "message.max.bytes": 1_000_000_000,  # the topic's own limit counts
    "message.timeout.ms": int(TIMEOUT * 1000),  # what is reported as not written is not written later
    "partitioner": "murmur2_random",  # as Kafka's Java clients do, Spark's among them
}


class _Sender:
    """A producer, and the thread that hears what became of its records and tells the streams that they are of."""

    def __init__(self, connection: KafkaConnection, batch: int) -> None:
        self.producer = Producer(connection.producer({**_SETTINGS, "batch.size": batch}))
        self.over = threading.Event()
        """It sends nothing any more: the engine stops, or librdkafka has reported a fatal error."""
        self._changed: set[_SharedStream] = set()
        self._thread = threading.Thread(target=self._listen, name="inserted rows", daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while not self.over.is_set() or len(self.producer):
            self.producer.poll(_LISTENS)
            changed, self._changed = self._changed, set()
            for stream in changed:
                stream.tell()

    def heard(self, stream: _SharedStream) -> None:
        """Something became known of a stream; called by the thread that listens."""
        self._changed.add(stream)

    def close(self) -> None:
        """Ends it; records that are on their way arrive, or are given up after :data:`TIMEOUT`."""
        self.over.set()
        self._thread.join()


class InsertStreams:
    """The streams of an engine; ``session``: gives Spark's session, which writes records of 1970-01-01."""

    def __init__(self, brokers: Brokers, catalog_service: CatalogService, session: Callable[[], SparkSession]) -> None:
        self.brokers = brokers
        self.catalog_service = catalog_service
        self.session = session
        self._starting = threading.Lock()
        self._senders: dict[int, _Sender] = {}
        self._resuming = Resuming(brokers, catalog_service)
        self._closed = False

    def open(self, target: str, id: str | None = None, begin: int | None = None) -> InsertStream:
        """A stream of rows into a stream or table, for the principal that asks.

        ``id``: the client's name for the stream, under which it may go on later; ``begin``: number of its first row.
        Raises ConfigProblem for a source that is not written, StatementError ``missing-right``, EngineProblem.
        """
        self.brokers.check_owner()
        source = self.target(target)
        batch = self.batch(source.topic)
        if id is not None:
            return self._resuming.open(target, source, id, begin, {**_SETTINGS, "batch.size": batch})
        return _SharedStream(self, self._sender(batch), target, source)

    def settings(self, batch: int) -> dict[str, object]:
        """Those of a producer of rows that sends so many bytes at once."""
        return {**_SETTINGS, "batch.size": batch}

    def batch(self, topic: str) -> int:
        """The bytes that can be sent at once to a topic."""
        limit = self.brokers.kafka.record_limits([topic])[topic]
        batch = _BATCH
        while limit is not None and batch > max(1, limit.most):
            batch //= 2  # brokers refuse a batch as a whole, and librdkafka does not divide it
        return batch

    def target(self, target: str) -> Source:
        """What rows are written into, of its name; raises as :meth:`open`."""
        catalog = self.catalog_service.catalog
        try:
            require(ASKS.get(), Need(Right.INSERT, Thing.source(streamed_name(target))), catalog.grants)
            source = streamed_target(target, catalog)
        except AnalysisProblem as e:  # there is no statement whose fault it could be
            raise ConfigProblem(e.code, e.message, hint=e.hint, similar=e.similar) from e
        if is_internal(source.topic):
            said = f"topic {source.topic} of {source.name} is internal and can only be read"
            raise ConfigProblem("internal-topic", said)
        return source

    def _sender(self, batch: int) -> _Sender:
        """The sender that sends so many bytes at once."""
        with self._starting:
            if self._closed:
                raise stopping()
            found = self._senders.get(batch)
            if found is None or found.over.is_set():
                found = self._senders[batch] = _Sender(self.brokers.connection, batch)
            return found

    def close(self) -> None:
        """Ends all."""
        with self._starting:
            self._closed = True
            senders = list(self._senders.values())
        self._resuming.close()
        for sender in senders:
            sender.over.set()
        for sender in senders:
            sender.close()


class _SharedStream(InsertStream):
    """The rows of a client, which share their producer with those of others."""

    def __init__(self, streams: InsertStreams, sender: _Sender, target: str, source: Source) -> None:
        super().__init__(streams.brokers, streams.catalog_service, target, source)
        self._session = streams.session
        self._sender = sender
        self._size = 0  # bytes on their way
        self._out_of_order: set[int] = set()

    @property
    def has_room(self) -> bool:
        """Whether more rows are taken before some of those on their way have arrived."""
        return self.taken - self.acked < ROOM and self._size < ROOM_BYTES

    def write(self, lines: Sequence[bytes]) -> int:
        """Sends rows; gives the number of those that it has taken, which is less where there is no room for more."""
        self._writing = True
        begin = self.taken
        try:
            self._follow()
            with working():
                for line in lines:
                    if self.ended or not self.has_room or not self._send(line):
                        break
                    step()
        except KsqlError as e:
            self.refuse(e)
        finally:
            self._writing = False
        return self.taken - begin

    def _send(self, line: bytes) -> bool:
        """Sends a row; False where it must wait for those before it."""
        key, value, time = self._record(line)
        if time == 0:  # which librdkafka takes for none
            return self._send_at_epoch(key, value)
        seq, size = self.taken, len(key or b"") + len(value or b"")
        options: dict[str, Any] = {} if time is None else {"timestamp": time}
        if self._headers:
            options["headers"] = self._headers
        heard = partial(self._heard, seq, size)
        topic = self._source.topic
        with self._lock:
            self._size += size
        try:
            self._sender.producer.produce(topic, key=key, value=value, on_delivery=heard, **options)
        except BufferError:  # those of other streams
            with self._lock:
                self._size -= size
            return False
        except KafkaException as e:
            error: KafkaError = e.args[0]
            if error.fatal():
                self._sender.over.set()
            raise not_written(topic, error, size) from e
        self.taken += 1
        return True

    def _send_at_epoch(self, key: bytes | None, value: bytes | None) -> bool:
        if self.acked < self.taken:
            return False
        topic = self._source.topic
        problem = self._brokers.kafka.write_at_epoch(self._session(), topic, key, value, self._headers)
        if problem is not None:
            raise EngineProblem("not-inserted", f"the record was not written to topic {topic}: {problem}")
        self.taken += 1
        self.acked += 1
        return True

    def _heard(self, seq: int, size: int, error: KafkaError | None, message: Message) -> None:
        """What became of a record; called by the thread that listens."""
        with self._lock:
            self._size -= size
            if error is not None:
                self._bad[seq] = not_written(self._source.topic, error, size)
                if error.fatal():
                    self._sender.over.set()
            elif seq != self.acked:
                self._out_of_order.add(seq)
            else:
                seq += 1
                while seq in self._out_of_order:
                    self._out_of_order.discard(seq)
                    seq += 1
                self.acked = seq
        self._sender.heard(self)
