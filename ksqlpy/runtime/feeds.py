"""Feeds: the rows of one plain push query, made once for all clients that ask it from now on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from ksqlpy.atwork import step, working
from ksqlpy.errors import EngineProblem
from ksqlpy.formats import Unreadable
from ksqlpy.reading import Gone, Token
from ksqlpy.reading.batch import Batch
from ksqlpy.reading.messages import record_of
from ksqlpy.reading.push import Plain

__all__ = ["Feed", "Rows", "Taker", "made"]

log = logging.getLogger(__name__)

Taker = Callable[[Batch], None]
Rows = list[list[Any] | Gone | Token]

IDLE_SECONDS = 0.5
AT_ONCE = 500


class Feed:
    """Reads a topic from now on, and gives each batch of rows to all who have joined.

    ``ended``: is told when nobody is left, or when it cannot go on.
    """

    def __init__(
        self,
        name: str,
        how: Plain,
        offsets: Mapping[str, Mapping[str, int]],
        consumer: Consumer,
        ended: Callable[[Feed], None],
    ) -> None:
        self.name = name
        self._how = how
        self._consumer = consumer
        self._ended = ended
        self._lock = threading.Lock()
        self._takers: dict[object, tuple[Taker, Callable[[Exception], None]]] = {}
        self._over = False
        self.unread = 0
        consumer.assign([TopicPartition(t, int(p), o) for t, ps in offsets.items() for p, o in ps.items()])
        threading.Thread(target=self._run, name=f"feed {name}", daemon=True).start()

    def join(self, who: object, take: Taker, failed: Callable[[Exception], None]) -> bool:
        """Gives the rows of all records that come from now on to ``take``; False where the feed has ended."""
        with self._lock:
            if self._over:
                return False
            self._takers[who] = take, failed
            return True

    def leave(self, who: object) -> None:
        """No more rows for this one; the last one ends the feed."""
        with self._lock:
            self._takers.pop(who, None)
            self._over = self._over or not self._takers  # a feed begins with somebody, and ends with the last one

    def _run(self) -> None:
        problem: Exception | None = None
        try:
            while not self._over:
                first = self._consumer.poll(IDLE_SECONDS)
                if first is None:
                    continue
                with working():
                    rows = made([first, *self._consumer.consume(AT_ONCE, 0)], self._how, self._unread)
                    batch = Batch(rows)
                    for take, _ in tuple(self._takers.values()) if rows else ():
                        take(batch)
        except Exception as e:  # carried to those who read
            if not isinstance(e, EngineProblem):
                log.exception("feed %s failed", self.name)
            problem = e
        finally:
            with self._lock:
                self._over = True
                left = tuple(self._takers.values())
            self._consumer.close()
            self._ended(self)
        for _, failed in left:
            failed(problem or EngineProblem("query-ended", f"query {self.name} was ended by the server"))

    def _unread(self, message: Message, error: Unreadable) -> None:
        self.unread += 1
        if self.unread == 1:
            log.warning("query %s: a record of %s cannot be read: %s", self.name, message.topic(), error)


def made(messages: Sequence[Message], how: Plain, unread: Callable[[Message, Unreadable], None]) -> Rows:
    """The rows of what a consumer gave. Raises EngineProblem ``query-failed`` where the topic cannot be read."""
    rows: Rows = []
    for message in messages:
        step()
        error = message.error()
        if error is not None:
            if error.retriable() or error.code() == KafkaError._PARTITION_EOF:
                continue
            raise EngineProblem("query-failed", f"topic {message.topic()} cannot be read: {error.str()}")
        try:
            row = how.row(record_of(message))
        except Unreadable as e:
            unread(message, e)
            continue
        if row is not None:
            rows.append(row)
    return rows
