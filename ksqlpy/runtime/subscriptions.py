"""Subscriptions: plain push queries whose client acknowledges rows, and goes on behind them when it comes back.

A subscription has a name. What is acknowledged is noted as the offsets of a consumer group on the source's topic, in a
transaction, which also has the rows that the client writes into a stream or table for what it acknowledges. So each row
is acknowledged, and its results are written, together or not at all. Who opens a subscription takes it from who had it.
"""

from __future__ import annotations

import threading
import time
import uuid
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence

from confluent_kafka import Consumer, Message, TopicPartition

from ksqlpy.access import ASKS
from ksqlpy.atwork import step, working
from ksqlpy.catalog import Owner, Source
from ksqlpy.errors import ConfigProblem, EngineProblem
from ksqlpy.reading import Gone
from ksqlpy.reading.push import Plain
from ksqlpy.runtime.feeds import AT_ONCE, IDLE_SECONDS, Rows, made
from ksqlpy.runtime.inserting import InsertStreams
from ksqlpy.runtime.insertrows import InsertStream
from ksqlpy.runtime.plainpush import OwnPush, PlainPush
from ksqlpy.runtime.progress import Progress, owner_in_names
from ksqlpy.runtime.push import Asked
from ksqlpy.runtime.writing import Record

__all__ = ["NAME", "SubscribedPush", "Subscriptions", "needs_query"]

NAME = "ksqlpy.subscription"
"""The property that names the subscription of a push query."""

MOST = 100
"""Subscriptions that may be open: each has a producer of its own."""

BATCH = 16_384
"""Bytes that are sent at once: as Java's producers do, since sinks are not known from the beginning."""

KEEP = 3600.0
"""Seconds after which a note is written again: brokers forget those older than ``offsets.retention.minutes``."""

SETTLED = 1.0
"""Seconds in which who takes a subscription has noted that it is his."""

Offsets = Mapping[str, Mapping[str, int]]


def needs_query() -> EngineProblem:
    """A subscription to what only a query of Spark can give."""
    said = "a subscription reads columns of one source, with a plain condition, without LIMIT"
    hint = "subscribe to a stream or table that CREATE … AS SELECT makes of it"
    return EngineProblem("subscription-needs-query", said, hint=hint, error_code=40000)


class Subscriptions:
    """The subscriptions of an engine."""

    def __init__(self, inserts: InsertStreams) -> None:
        self._inserts = inserts
        self._brokers = inserts.brokers
        self._open: weakref.WeakValueDictionary[str, SubscribedPush] = weakref.WeakValueDictionary()

    def open(
        self,
        name: str,
        query_id: str,
        asked: Asked,
        how: Plain,
        reader: Callable[[], Consumer],
        first: Callable[[], Offsets],
        closed: Callable[[PlainPush], None],
    ) -> SubscribedPush:
        """The subscription of this name of the principal that asks; who had it open before can acknowledge no more.

        ``first``: the offsets of one that is new. Raises EngineProblem.
        """
        if asked.limit is not None:
            raise needs_query()
        if len(self._open) >= MOST:
            said = f"{MOST} subscriptions are open, which is the most"
            raise EngineProblem("too-many-queries", said, hint="close one of them", error_code=40003)
        topic = asked.plan.relations[0].source.topic
        count = self._brokers.topics.partitions([topic])[topic]
        whole = f"{self._brokers.topics.subscriptions}/{owner_in_names()}/{name}"

        def progress(batch: int) -> Progress:
            return Progress(self._brokers, whole, self._inserts.settings(batch), _taken(name))

        begun = progress(BATCH)
        found = begun.begin([TopicPartition(topic, p) for p in range(count)])
        is_new = max(found) < 0
        at = first()[topic] if is_new else {str(p): max(0, offset) for p, offset in enumerate(found)}
        notes = _Notes(topic, {int(p): offset for p, offset in at.items()}, begun, progress, self._inserts.batch)
        notes.write({}, None, ())  # whose it is now; of a new one where "from now on" was, too
        push = SubscribedPush(query_id, asked, how, at, reader(), closed, notes, self._rows_into)
        self._open[query_id] = push
        return push

    def _rows_into(self, target: str) -> _SinkRows:
        return _SinkRows(self._inserts, target, self._inserts.target(target))

    def acknowledge(self, query_id: str, rows: int, target: str | None, lines: Sequence[bytes]) -> None:
        """See :meth:`SubscribedPush.acknowledge`, of the subscription that a query of this principal has open."""
        found = self._open.get(query_id)
        if found is None or Owner.of(found.asked.principal) != Owner.of(ASKS.get()):
            hint = "open the subscription again: it goes on behind the last row that is acknowledged"
            raise ConfigProblem("unknown-query", f"no subscription is open as query {query_id}", hint=hint)
        found.acknowledge(rows, target, lines)


def _taken(name: str) -> EngineProblem:
    said = f"another client has subscription {name}"
    hint = "give each subscription a name of its own"
    return EngineProblem("subscription-taken", said, hint=hint, error_code=40900)


def _cut_off() -> EngineProblem:
    said = "the brokers have ended a transaction of the subscription, as they do when it takes too long"
    return EngineProblem("query-ended", said, hint="open it again: it goes on behind the last acknowledged row")


class _Notes:
    """What is noted of a subscription: the next offset of each partition, and the rows that are written with it.

    Each note tells who has written it.
    """

    def __init__(
        self,
        topic: str,
        at: dict[int, int],
        progress: Progress,
        anew: Callable[[int], Progress],
        most: Callable[[str], int],
    ) -> None:
        """``anew``: another producer of the name, which sends so many bytes at once; ``most``: those of a topic."""
        self._topic = topic
        self._own = uuid.uuid4().hex
        self._most = most
        self._batch = BATCH
        self._at = at
        self._progress = progress
        self._anew = anew
        self._fits: set[str] = set()
        self._written = time.monotonic()

    def write(self, at: Mapping[int, int], target: str | None, records: Sequence[Record]) -> None:
        """Notes offsets together with records into a topic. Raises KsqlError: then neither is there."""
        now = {**self._at, **at}
        note = [TopicPartition(self._topic, p, offset, self._own) for p, offset in now.items()]
        _, problem = self._progress.write(target or self._topic, records, lambda count: note, whole=True)
        if problem is not None:
            if problem is self._progress.taken and self._is_own:
                raise _cut_off()
            if problem.error_code // 100 == 400:  # librdkafka may not go on behind a record that is refused
                self._renew(self._batch)
            raise problem
        self._at = now
        self._written = time.monotonic()

    @property
    def _is_own(self) -> bool:
        """Whether nobody else has opened the subscription since. Raises EngineProblem."""
        time.sleep(SETTLED)
        [found] = self._progress.noted([TopicPartition(self._topic, min(self._at))])
        return found.metadata == self._own

    def fit(self, target: str, headers: list[tuple[str, bytes]]) -> None:
        """Has a producer whose batches the topic takes. Raises EngineProblem ``subscription-taken``."""
        if target not in self._fits and (most := self._most(target)) < self._batch:
            self.write({}, None, ())  # as long as it is this client's
            self._renew(most)
        self._fits.add(target)
        self._progress.headers = headers

    def _renew(self, batch: int) -> None:
        """Goes on with another producer. Raises EngineProblem ``subscription-taken``."""
        self._progress.close()
        self._batch, self._progress = batch, self._anew(batch)
        found = self._progress.begin([TopicPartition(self._topic, p) for p in self._at])
        if [max(0, offset) for offset in found] != [*self._at.values()]:  # of another client meanwhile
            raise self._progress.taken

    def keep(self) -> None:
        """Notes again what is noted, now and then."""
        if time.monotonic() - self._written > KEEP:
            self.write({}, None, ())

    def close(self) -> None:
        self._progress.close()


class _SinkRows(InsertStream):
    """Rows that a client writes for what it acknowledges, as records."""

    def __init__(self, streams: InsertStreams, target: str, source: Source) -> None:
        super().__init__(streams.brokers, streams.catalog_service, target, source)
        self.records: list[Record] = []

    @property
    def has_room(self) -> bool:
        """Always."""
        return True

    @property
    def topic(self) -> str:
        """Where they go."""
        return self._source.topic

    @property
    def headers(self) -> list[tuple[str, bytes]]:
        """Those of all records."""
        return self._headers

    def write(self, lines: Sequence[bytes]) -> int:
        """Makes records of rows, all of them. Raises KsqlError."""
        self._follow()
        self.records = []
        with working():
            for line in lines:
                key, value, at = self._record(line)
                if at == 0:  # which librdkafka takes for none
                    said = "ROWTIME 0 cannot be written in a transaction"
                    raise EngineProblem("not-inserted", said, error_code=40000)
                self.records.append((key, value, at))
                step()
        return len(self.records)

    def there(self) -> None:
        """The records are written."""
        self.taken += len(self.records)
        self.acked = self.taken
        self.records = []


class SubscribedPush(OwnPush):
    """A plain push query whose client acknowledges its rows."""

    def __init__(
        self,
        query_id: str,
        asked: Asked,
        how: Plain,
        offsets: Mapping[str, int],
        consumer: Consumer,
        closed: Callable[[PlainPush], None],
        notes: _Notes,
        rows_into: Callable[[str], _SinkRows],
    ) -> None:
        super().__init__(query_id, asked, how, {asked.plan.relations[0].source.topic: offsets}, consumer, closed)
        self._notes = notes
        self._rows_into = rows_into
        self._given = self._acknowledged = 0
        self._places: deque[tuple[int, int, int]] = deque()
        """How many rows there are when a record was read, its partition, and the offset behind it."""
        self._sinks: dict[str, _SinkRows] = {}
        self._lock = threading.Lock()
        self._acknowledging = threading.Lock()

    def _batches(self) -> Iterator[Rows]:
        with self._reading:
            while not self._closing.is_set():
                first = self._consumer.poll(IDLE_SECONDS)
                if first is None:
                    self._keep()
                    yield []
                    continue
                with working():
                    rows: Rows = []
                    for message in [first, *self._consumer.consume(AT_ONCE, 0)]:
                        rows += self._rows_of(message)
                    if rows:
                        yield rows

    def pieces(self) -> None:
        """None: where each row stands is noted when it is made."""

    def _rows_of(self, message: Message) -> Rows:
        """The row of a record, if it has one; of a table no rows that are gone."""
        rows: Rows = [r for r in made([message], self._how, self._unread) if not isinstance(r, Gone)]
        partition, offset = message.partition(), message.offset()
        if message.error() is None and partition is not None and offset is not None:
            with self._lock:
                self._given += len(rows)
                place = self._given, partition, offset + 1
                if self._places and self._places[-1][:2] == place[:2]:
                    self._places[-1] = place
                else:
                    self._places.append(place)
        return rows

    def _keep(self) -> None:
        if self._acknowledging.acquire(blocking=False):
            try:
                self._notes.keep()
            finally:
                self._acknowledging.release()

    def acknowledge(self, rows: int, target: str | None = None, lines: Sequence[bytes] = ()) -> None:
        """The client has done with so many rows, from the first one of this query on.

        ``lines``: rows that are written into the stream or table ``target``, in the same transaction; with a number of
        rows that was acknowledged before, they are written already. Raises KsqlError: then nothing of it is done.
        """
        with self._acknowledging:
            with self._lock:
                if rows > self._given:
                    said = f"{rows:,} rows cannot be acknowledged: {self._given:,} were given"
                    raise ConfigProblem("bad-acknowledgement", said, hint="count the rows of this query")
                at = {partition: offset for upto, partition, offset in self._places if upto <= rows}
            if self._closing.is_set():
                raise self.ended_for or EngineProblem("query-ended", f"query {self.id} has ended", hint="ask again")
            if rows <= self._acknowledged:
                return
            sink = self._made(target, lines) if target is not None and lines else None
            if sink is None:
                self._notes.write(at, None, ())
            else:
                self._notes.write(at, sink.topic, sink.records)
                sink.there()
            self._acknowledged = rows
            with self._lock:
                while self._places and self._places[0][0] <= rows:
                    self._places.popleft()

    def _made(self, target: str, lines: Sequence[bytes]) -> _SinkRows:
        sink = self._sinks.get(target)
        if sink is None:
            sink = self._sinks[target] = self._rows_into(target)
        sink.write(lines)
        self._notes.fit(sink.topic, sink.headers)
        return sink

    def _finish(self) -> None:
        super()._finish()
        with self._acknowledging:
            for sink in self._sinks.values():
                sink.close()
            self._notes.close()
