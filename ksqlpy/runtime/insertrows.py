"""The rows that a client sends one after the other, as records of their target: what all such streams share."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from ksqlpy.access import ASKS, Need, Right, Thing, require
from ksqlpy.analysis.inserts import streamed_target
from ksqlpy.analysis.jsonrows import JsonRows
from ksqlpy.audit import Touched
from ksqlpy.catalog import Source
from ksqlpy.errors import AnalysisProblem, EngineProblem, KsqlError, reason_of
from ksqlpy.formats import codec
from ksqlpy.runtime.audited import note
from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.catalog_service import CatalogService
from ksqlpy.runtime.writing import Record, check_time
from ksqlpy.tracing import record_headers

__all__ = ["INSERTS_STREAM", "ROOM", "ROOM_BYTES", "InsertStream", "stopping"]

INSERTS_STREAM = "INSERT STREAM"
"""What the audit log calls it."""

ROOM, ROOM_BYTES = 10_000, 2**23
"""Rows of a stream, and bytes of their records, that may be on their way."""


def stopping() -> EngineProblem:
    """Why no more rows are taken when the engine ends."""
    return EngineProblem("server-stopping", "the server is shutting down", error_code=50303)


class InsertStream(ABC):
    """The rows of a client. One thread at a time calls :meth:`write`; all else may be read by any.

    ``tell``: is called, by any thread, when :attr:`acked` or :attr:`failure` may have changed.
    """

    most = 2_000
    """Rows that :meth:`write` is given at once."""

    def __init__(self, brokers: Brokers, catalog_service: CatalogService, target: str, source: Source) -> None:
        self.tell: Callable[[], None] = lambda: None
        self.taken = 0
        """Rows that were taken."""
        self.acked = 0
        """Rows that the brokers have: all from the first one on."""
        self._brokers = brokers
        self._catalog_service = catalog_service
        self._first = 0
        self._principal = ASKS.get()
        self._headers = record_headers(brokers.config)
        self._target = target
        self._bad: dict[int, KsqlError] = {}  # of rows that were sent
        self._refused: KsqlError | None = None
        self._writing = self._closed = False
        self._lock = threading.Lock()
        self._prepare(source)

    def _prepare(self, source: Source) -> None:
        source = self._catalog_service.written(source)
        self._source = source
        self._rows = JsonRows(source)
        self._key, self._value = codec(source.key), codec(source.value)
        indexes = {c.name: i for i, c in enumerate(source.written)}
        self._keys = [indexes[c.name] for c in source.keys]
        self._values = [indexes[c.name] for c in source.values]

    @property
    def standing(self) -> int | None:
        """The rows that stood when the stream began, where it has an id."""
        return None

    @property
    def failure(self) -> KsqlError | None:
        """Why row number :attr:`acked` is not written, and the stream is over; None as long as it goes on."""
        found = self._bad.get(self.acked)
        return self._refused if found is None and not self._writing and self.acked == self.taken else found

    @property
    def ended(self) -> bool:
        """Whether a row was refused, so that no more are taken."""
        return self._refused is not None or bool(self._bad)

    @property
    @abstractmethod
    def has_room(self) -> bool:
        """Whether more rows are taken before some of those on their way have arrived."""

    @abstractmethod
    def write(self, lines: Sequence[bytes]) -> int:
        """Sends rows; gives the number of those that it has taken, which is less where there is no room for more.

        One that is wrong ends the stream: :attr:`failure` tells when all before it are there.
        """

    def refuse(self, problem: KsqlError) -> None:
        """Takes no more rows; the next one gets this as its answer."""
        self._refused = self._refused or problem

    def close(self) -> None:
        """Nobody wants to hear of it any more; what is on its way arrives."""
        self.tell = lambda: None
        if not self._closed:
            self._closed = True
            touched = Touched("source", self._source.name, "INSERT", self._source.topic)
            rows, written = self.taken - self._first, self.acked - self._first
            note(INSERTS_STREAM, touched, error=self.failure, rows=rows, written=written)

    def _follow(self) -> None:
        """Goes on with the source and the rights as they are now; raises KsqlError where no more can be written."""
        self._brokers.check_owner()
        name, catalog = self._source.name, self._catalog_service.catalog
        require(self._principal, Need(Right.INSERT, Thing.source(name)), catalog.grants)
        found = catalog.sources.get(name)
        if found is self._source or found == self._source:
            return
        if found is None or found.topic != self._source.topic or found.kind != self._source.kind:
            raise EngineProblem("source-gone", f"{name} was dropped while rows came", error_code=40000)
        self._prepare(streamed_target(self._target, self._catalog_service.catalog))

    def _record(self, line: bytes) -> Record:
        """The record of a row. Raises KsqlError."""
        try:
            values, time = self._rows.read(line)
            check_time(time)
            key = self._encoded(self._key, [values[i] for i in self._keys])
            value = self._encoded(self._value, [values[i] for i in self._values])
        except KsqlError as e:
            e.error_code = 40000  # there is no statement whose fault it could be
            raise
        return key, value, time

    def _encoded(self, part: Any, values: list[Any]) -> bytes | None:
        try:
            found: bytes | None = part.encode(values)
        except Exception as e:  # of any library that a format uses
            raise AnalysisProblem("insert-failed", f"the row cannot be written as a record: {reason_of(e)}") from e
        return found
