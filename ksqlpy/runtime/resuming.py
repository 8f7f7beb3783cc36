"""Streams of rows that a client goes on with after its connection, or the server, has ended: each row is written once.

Such a stream has an id. Its rows are written in transactions, and each of these also notes how many rows there are, as
the offset of a consumer group on the target's topic. So the note is true whatever ends, and goes when the topic does.
Kafka lets one producer at a time use the name of the stream: who opens it ends the transaction of who had it before and
knows by the note where to go on. A row is acknowledged when its transaction is committed.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence

from confluent_kafka import TopicPartition

from ksqlpy.atwork import step, working
from ksqlpy.catalog import Source
from ksqlpy.errors import ConfigProblem, EngineProblem, KsqlError
from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.catalog_service import CatalogService
from ksqlpy.runtime.insertrows import ROOM_BYTES, InsertStream, stopping
from ksqlpy.runtime.progress import Progress, owner_in_names
from ksqlpy.runtime.writing import Record

__all__ = ["Resuming"]

MOST = 100
"""Streams with an id that may be open: each has a producer of its own."""


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
        said = "another connection goes on with this id, or the brokers have ended its transaction"
        hint = "let one connection use an id at one time, and begin again to learn which rows are there"
        taken = EngineProblem("insert-id-taken", said, hint=hint, error_code=40900)
        progress = Progress(self._brokers, self._name(source.topic, id), settings, taken)
        standing = max(0, *progress.begin([TopicPartition(source.topic, 0)]))
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
        return f"{self._brokers.topics.inserts}/{owner_in_names()}/{topic}/{id}"

    def close(self) -> None:
        """Ends all."""
        with self._lock:
            self._closed = True
            streams = list(self._open)
        for stream in streams:
            stream.refuse(stopping())
            stream.close()


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
        progress: Progress,
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
            topic, before = self._source.topic, self.taken
            written, wrong = self._progress.write(
                topic, records, lambda count: [TopicPartition(topic, 0, before + count)]
            )
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
