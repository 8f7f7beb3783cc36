"""Plain push queries: SELECT columns FROM source [WHERE …] EMIT CHANGES, answered without Spark.

The records of the source's topic are read here and their rows are made in Python. A change of a table is shown as the
record that it is in the topic; a tombstone as the row that is gone. Equal queries that begin now share one
:class:`~ksqlpy.runtime.feeds.Feed`; one that begins elsewhere reads the topic itself.
"""

from __future__ import annotations

import base64
import json
import logging
import queue
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any

from confluent_kafka import Consumer, Message, TopicPartition

from ksqlpy.atwork import working
from ksqlpy.errors import ConfigProblem
from ksqlpy.formats import Unreadable
from ksqlpy.reading import Gone, Token
from ksqlpy.reading.batch import Batch, Unshared
from ksqlpy.reading.bulk import Bulk
from ksqlpy.reading.messages import raw_of
from ksqlpy.reading.pieces import Piece, Pieces, Reading
from ksqlpy.reading.push import Plain
from ksqlpy.runtime.feeds import AT_ONCE, IDLE_SECONDS, Feed, Rows, Taker, made
from ksqlpy.runtime.push import Asked
from ksqlpy.spark.query_status import QueryStatus, State

__all__ = ["OwnPush", "PlainPush", "SharedPush", "offsets_of", "token_text"]

log = logging.getLogger(__name__)

_PIECE = 5_000
"""Records of a piece at most."""


def token_text(offsets: Mapping[str, Mapping[str, int]]) -> str:
    """A continuation token: the next offset of each partition, by topic."""
    return base64.urlsafe_b64encode(json.dumps(offsets, separators=(",", ":")).encode()).decode()


def offsets_of(token: str, topic: str, partitions: int) -> dict[str, dict[str, int]]:
    """The offsets in a continuation token of a query on a topic.

    Partitions that were added since begin with their first record. Raises ConfigProblem ``bad-token``.
    """
    try:
        places = json.loads(base64.urlsafe_b64decode(token))[topic]
        found = {str(p): int(places.get(str(p), 0)) for p in range(partitions)}
        if not places.keys() <= found.keys() or min(found.values()) < 0:
            raise ValueError(token)
    except (ValueError, LookupError, TypeError, AttributeError) as e:
        hint = "give back a token as a query of the same source gave it"
        raise ConfigProblem("bad-token", f"this is no continuation token of topic {topic}", hint=hint) from e
    return {topic: found}


class PlainPush(Unshared):
    """A plain push query that runs: what both kinds have."""

    plain = False
    """Its rows are values of columns, not lines of text."""
    stream = True
    """Its answer says at its end how it ended."""

    def __init__(self, query_id: str, asked: Asked, closed: Callable[[PlainPush], None]) -> None:
        self.id = query_id
        self.asked = asked
        self.columns = asked.columns
        self.limit = asked.limit
        self.limit_reached = asked.limit == 0
        self._closed = closed
        self._closing = threading.Event()

    @property
    def status(self) -> QueryStatus:
        """How it stands."""
        return QueryStatus(State.RUNNING)

    def rows(self) -> Iterator[list[Any] | Gone | Token | None]:
        """The rows as JSON values in the order of ``columns``; None about twice a second while nothing comes.

        Ends at the LIMIT or when the query is closed. Raises EngineProblem when the topic cannot be read, and what it
        was ended for.
        """
        sent, limit = 0, self.asked.limit
        for rows in self._batches() if not self.limit_reached else ():
            if not rows:
                yield None
            for row in rows:
                if self._closing.is_set():
                    break
                yield row
                if isinstance(row, Token):
                    continue
                sent += 1
                self.limit_reached = sent == limit
                if self.limit_reached:
                    break
            if self._closing.is_set() or self.limit_reached:
                break
        self.close()
        self.check_ended()

    def _batches(self) -> Iterator[Rows]:
        """The rows as they come; none of them about twice a second while nothing comes."""
        raise NotImplementedError

    def close(self) -> None:
        """Ends it; closing twice does nothing."""
        if self._closing.is_set():
            return
        self._closing.set()
        threading.Thread(target=self._finish, name=f"close {self.id}", daemon=True).start()

    def _finish(self) -> None:
        self._closed(self)


class OwnPush(PlainPush):
    """A plain push query that reads the topic itself."""

    def __init__(
        self,
        query_id: str,
        asked: Asked,
        how: Plain,
        offsets: Mapping[str, Mapping[str, int]],
        consumer: Consumer,
        closed: Callable[[PlainPush], None],
        *,
        tokens: bool = False,
    ) -> None:
        """``tokens``: behind each batch of rows comes a Token."""
        super().__init__(query_id, asked, closed)
        self.unread = 0
        self._at = {topic: dict(places) for topic, places in offsets.items()} if tokens else None
        self._how = how
        self._consumer = consumer
        self._reading = threading.Lock()
        consumer.assign([TopicPartition(t, int(p), o) for t, ps in offsets.items() for p, o in ps.items()])

    def _batches(self) -> Iterator[Rows]:
        with self._reading:
            while not self._closing.is_set():
                first = self._consumer.poll(IDLE_SECONDS)
                if first is None:
                    yield []
                    continue
                with working():
                    messages = [first, *self._consumer.consume(AT_ONCE, 0)]
                    rows = made(messages, self._how, self._unread)
                    if rows and self._at is not None:
                        rows.append(self._token(messages, self._at))
                    if rows:
                        yield rows

    def pieces(self) -> Pieces | None:
        """See :class:`Unshared`; it tells no tokens."""
        return None if self._how.bulk is None else Pieces(self.limit, self._pieces(self._how.bulk))

    def _pieces(self, bulk: Bulk) -> Generator[Piece | None, None, None]:
        reading = Reading(lambda messages: made(messages, self._how, self._unread), raw_of, bulk)
        with self._reading:
            while not self._closing.is_set():
                first = self._consumer.poll(IDLE_SECONDS)
                yield None if first is None else Piece([first, *self._consumer.consume(_PIECE, 0)], reading)
        self.close()
        self.check_ended()

    @staticmethod
    def _token(messages: list[Message], at: dict[str, dict[str, int]]) -> Token:
        for m in messages:
            topic, partition, offset = m.topic(), m.partition(), m.offset()
            if m.error() is None and topic is not None and offset is not None:
                at[topic][str(partition)] = offset + 1
        return Token(token_text(at))

    def _unread(self, message: Message, error: Unreadable) -> None:
        self.unread += 1
        if self.unread == 1:
            log.warning("query %s: a record of %s cannot be read: %s", self.id, message.topic(), error)

    def _finish(self) -> None:
        with self._reading:
            self._consumer.close()
        super()._finish()


class SharedPush(PlainPush):
    """A plain push query that takes its rows from a feed, with all others of the same text."""

    def __init__(self, query_id: str, asked: Asked, feed: Feed, closed: Callable[[PlainPush], None]) -> None:
        super().__init__(query_id, asked, closed)
        self._feed = feed
        self._queue: queue.SimpleQueue[Batch | Exception] = queue.SimpleQueue()
        self._giving = threading.Lock()
        self._take: Taker = self._queue.put
        self._failed: Callable[[Exception], None] = self._queue.put
        self._ended: Callable[[], None] | None = None
        self.joined = feed.join(self, self._given, lambda e: self._failed(e))
        """False where the feed ended meanwhile: another one must be asked."""

    def _given(self, batch: Batch) -> None:
        with self._giving:
            self._take(batch)

    def subscribe(self, take: Taker, failed: Callable[[Exception], None], ended: Callable[[], None]) -> bool:
        """Gives all rows to ``take``, from those that have come already; called from another thread.

        LIMIT is the taker's. ``failed``: is told why no more come; ``ended``: that the query was closed.
        """
        with self._giving:
            while not self._queue.empty():
                found = self._queue.get()
                if isinstance(found, Batch):
                    take(found)
                else:
                    failed(found)
            self._take, self._failed, self._ended = take, failed, ended
        if self._closing.is_set():
            ended()
        return True

    def _batches(self) -> Iterator[Rows]:
        while not self._closing.is_set():
            try:
                found = self._queue.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                yield []
                continue
            if isinstance(found, Exception):
                raise found
            yield list(found.rows)

    def _finish(self) -> None:
        self._feed.leave(self)
        if self.ended_for is not None:
            self._failed(self.ended_for)
        if self._ended is not None:
            self._ended()
        super()._finish()
