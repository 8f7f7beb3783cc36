"""Plain push queries: SELECT columns FROM source [WHERE …] EMIT CHANGES, answered without Spark.

The records of the source's topic are read here and their rows are made in Python. A change of a table is shown as the
record that it is in the topic; a tombstone as the row that is gone.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from ksqlpy.errors import EngineProblem
from ksqlpy.formats import Unreadable
from ksqlpy.reading import Gone
from ksqlpy.reading.messages import record_of
from ksqlpy.reading.push import Plain
from ksqlpy.runtime.push import Asked
from ksqlpy.spark.standing import Standing, State

__all__ = ["PlainPush"]

log = logging.getLogger(__name__)

IDLE_SECONDS = 0.5
AT_ONCE = 500


class PlainPush:
    """A plain push query that runs; it reads the topic itself."""

    plain = False
    """Its rows are values of columns, not lines of text."""
    stream = True
    """Its answer says at its end how it ended."""

    def __init__(
        self,
        query_id: str,
        asked: Asked,
        how: Plain,
        offsets: Mapping[str, Mapping[str, int]],
        consumer: Consumer,
        closed: Callable[[PlainPush], None],
    ) -> None:
        self.id = query_id
        self.asked = asked
        self.columns = asked.columns
        self.limit_reached = False
        self.unread = 0
        self._how = how
        self._consumer = consumer
        self._closed = closed
        self._closing = threading.Event()
        self._reading = threading.Lock()
        self._ended = threading.Event()
        consumer.assign([TopicPartition(t, int(p), o) for t, ps in offsets.items() for p, o in ps.items()])

    @property
    def standing(self) -> Standing:
        """How it stands."""
        return Standing(State.RUNNING)

    def rows(self) -> Iterator[list[Any] | Gone | None]:
        """The rows as JSON values in the order of ``columns``; None about twice a second while nothing comes.

        Ends at the LIMIT or when the query is closed. Raises EngineProblem when the topic cannot be read.
        """
        sent, limit = 0, self.asked.limit
        with self._reading:
            self.limit_reached = limit == 0
            while not self._closing.is_set() and not self.limit_reached:
                first = self._consumer.poll(IDLE_SECONDS)
                if first is None:
                    yield None
                    continue
                for message in (first, *self._consumer.consume(AT_ONCE, 0)):
                    error = message.error()
                    if error is not None:
                        if error.retriable():
                            continue
                        raise EngineProblem(
                            "query-failed", f"the records of query {self.id} cannot be read: {error.str()}"
                        )
                    row = self._row(message)
                    if row is None:
                        continue
                    yield row
                    sent += 1
                    self.limit_reached = sent == limit
                    if self.limit_reached or self._closing.is_set():
                        break
        self.close()

    def _row(self, message: Any) -> list[Any] | Gone | None:
        try:
            return self._how.row(record_of(message))
        except Unreadable as e:
            self.unread += 1
            if self.unread == 1:
                log.warning("query %s: a record of %s cannot be read: %s", self.id, message.topic(), e)
            return None

    def close(self) -> None:
        """Ends it; closing twice does nothing."""
        if self._closing.is_set():
            return
        self._closing.set()
        threading.Thread(target=self._finish, name=f"close {self.id}", daemon=True).start()

    def _finish(self) -> None:
        with self._reading:
            self._consumer.close()
        self._closed(self)
