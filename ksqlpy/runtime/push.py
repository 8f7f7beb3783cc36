"""Push queries: SELECT … EMIT CHANGES, a query whose result goes to one reader and ends with it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from ksqlpy.access import Need, Principal, Right
from ksqlpy.atwork import working
from ksqlpy.catalog import Column
from ksqlpy.errors import EngineProblem
from ksqlpy.plan import Mode, Plan
from ksqlpy.reading.batch import Unshared
from ksqlpy.spark.query import RunningQuery
from ksqlpy.spark.query_status import QueryStatus

__all__ = ["Asked", "PushQuery"]

IDLE_SECONDS = 0.5
PATIENCE_SECONDS = 10
"""How long a query may be away, as it is while it restarts."""


@dataclass(frozen=True)
class Asked:
    """What a push query was asked for; ``limit``: rows, None for all; ``properties``: of the session.

    ``principal``: who asks, None where there is no login.
    """

    statement: str
    plan: Plan
    mode: Mode
    columns: tuple[Column, ...]
    limit: int | None
    properties: Mapping[str, object]
    principal: Principal | None = None

    @property
    def sources(self) -> list[str]:
        """The names of its streams and tables."""
        return list(dict.fromkeys(r.source.name for r in self.plan.relations))

    @property
    def needs(self) -> list[Need]:
        """The rights that it needs as long as it is open."""
        return Need.on(Right.SELECT, *self.sources)


class PushQuery(Unshared):
    """A running push query; rows come by way of a topic of its own, which goes when it is closed."""

    plain = False
    """Its rows are values of columns, not lines of text."""
    stream = True
    """Its answer says at its end how it ended."""

    def __init__(
        self,
        query_id: str,
        asked: Asked,
        current: Callable[[], RunningQuery | None],
        topic: str,
        consumer: Consumer,
        closed: Callable[[PushQuery], None],
    ) -> None:
        """``current``: the running query, which may be another after a restart; None when it is gone."""
        self.id = query_id
        self.asked = asked
        self.columns = asked.columns
        self.limit_reached = False
        self._current = current
        self._query = current()
        self._looks_without = 0
        self._limit = asked.limit
        self._consumer = consumer
        self._closed = closed
        self._closing = threading.Event()
        self._close_lock = threading.Lock()
        self._reading = threading.Lock()
        consumer.assign([TopicPartition(topic, 0, 0)])

    @property
    def status(self) -> QueryStatus | None:
        """How it stands, where it knows by itself; None: as the query that feeds it."""
        return None

    def rows(self) -> Iterator[list[Any] | None]:
        """The rows as JSON values in the order of ``columns``; None about twice a second while nothing comes.

        Fractions are Decimals, with the digits that the result has. Ends at the LIMIT or when the query is closed.
        Raises EngineProblem when the query fails, and what it was ended for.
        """
        sent = 0
        with self._reading:
            if self._limit == 0:
                self.limit_reached = True
            while not self._closing.is_set() and not self.limit_reached:
                message = self._consumer.poll(IDLE_SECONDS)
                if message is None:
                    self._look()
                    yield None
                    continue
                if message.error() is not None:
                    raise EngineProblem("query-failed", f"the result of query {self.id} cannot be read")
                value = message.value()
                if value is None:
                    continue  # a tombstone has no row
                with working():
                    record = json.loads(value, parse_float=Decimal)
                    yield [record[c.name] for c in self.columns]
                sent += 1
                self.limit_reached = sent == self._limit
        self.close()
        self.check_ended()

    def _look(self) -> None:
        """Raises EngineProblem if the query has failed, or was ended by another than its reader."""
        query = self._current()
        self._query = query or self._query
        self._looks_without = 0 if query is not None else self._looks_without + 1
        if self._closing.is_set():
            return
        if self._query is not None and self._query.status.failed:
            raise EngineProblem("query-failed", f"query {self.id} failed: {self._query.error}")
        if self._looks_without * IDLE_SECONDS > PATIENCE_SECONDS:
            raise EngineProblem("query-ended", f"query {self.id} was ended by the server", hint="ask again")

    def close(self) -> None:
        """Ends the query and removes all that belongs to it; closing twice does nothing."""
        with self._close_lock:
            if self._closing.is_set():
                return
            self._closing.set()
        # Spark takes a moment to stop: the reader need not wait for it.
        threading.Thread(target=self._finish, name=f"close {self.id}", daemon=True).start()

    def _finish(self) -> None:
        if (query := self._current()) is not None:
            query.stop()
        with self._reading:
            self._consumer.close()
        self._closed(self)
