"""Rows on their way from the thread that makes them to who reads a result."""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol

from ksqlpy.atwork import step, waiting
from ksqlpy.session.rows import Column

__all__ = ["AHEAD", "Given", "Inbox", "Opened"]

AHEAD = 10_000
"""Rows that are read before they are taken; then the query waits."""


class Opened(Protocol):
    """A query that is answered, as a transport gives it. All may be called from any thread.

    ``tell``: is called, by any thread, when rows have come, or no more do.
    """

    query_id: str
    columns: tuple[Column, ...]
    tell: Callable[[], None]

    def take(self, seconds: float | None) -> Sequence[Sequence[Any]] | None:
        """Rows that have come, waiting so long for the first one, for ever with None; no rows where none came.

        None: no more come. Raises what the query failed with.
        """
        ...

    def close(self) -> None:
        """Ends the query; who waits for rows is told that no more come."""
        ...


class Given:
    """The rows of a query that are all there."""

    def __init__(self, query_id: str, columns: tuple[Column, ...], rows: Sequence[Sequence[Any]]) -> None:
        self.query_id = query_id
        self.columns = columns
        self.tell: Callable[[], None] = lambda: None
        self._rows: Sequence[Sequence[Any]] | None = rows

    def take(self, seconds: float | None) -> Sequence[Sequence[Any]] | None:
        """All of them, once."""
        rows, self._rows = self._rows, None
        return rows

    def close(self) -> None:
        """There is nothing to end."""
        self._rows = None


class Inbox:
    """The rows of a query that a thread of its own reads, so that neither a signal nor a close hits it in its work.

    ``rows``: gives them, and None when nothing has come for a while; ``end``: ends the query, so that ``rows`` ends.
    """

    def __init__(
        self,
        query_id: str,
        columns: tuple[Column, ...],
        rows: Generator[Any, None, None],
        end: Callable[[], None],
    ) -> None:
        self.query_id = query_id
        self.columns = columns
        self.tell: Callable[[], None] = lambda: None
        self._source = rows
        self._end = end
        self._rows: deque[Any] = deque()
        self._come = threading.Event()
        self._space = threading.Condition()
        self._over = self._closed = False
        self._failure: BaseException | None = None
        work = contextvars.copy_context().run
        self._thread = threading.Thread(target=work, args=(self._read,), name=f"rows of {query_id}", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        rows, come = self._rows, self._come
        try:
            for row in self._source:
                if self._closed:
                    break
                if row is None:
                    continue
                rows.append(row)
                if not come.is_set():
                    come.set()
                    self.tell()
                if len(rows) >= AHEAD:
                    self._wait_for_space()
                step()
        except BaseException as e:  # carried to who reads
            self._failure = e
        finally:
            self._source.close()
            self._over = True
            come.set()
            self.tell()

    def _wait_for_space(self) -> None:
        with waiting(), self._space:  # not the other way round: who takes rows must not wait for a turn
            self._space.wait_for(lambda: len(self._rows) < AHEAD or self._closed)

    def take(self, seconds: float | None) -> Sequence[Sequence[Any]] | None:
        """See :class:`Opened`."""
        if not self._come.wait(seconds):
            return ()
        # In this order: what comes behind the look is found at the next one.
        over = self._over
        if not over:
            self._come.clear()
            if self._over:
                self._come.set()
        rows = self._rows
        taken = [rows.popleft() for _ in range(len(rows))]
        with self._space:
            self._space.notify()
        if taken or not over:
            return taken
        if self._closed:
            return None
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        return None

    def close(self) -> None:
        """See :class:`Opened`. Its thread ends as soon as it has what it waits for: half a second at most."""
        self._closed = True
        with self._space:
            self._space.notify()
        self._end()
        self._come.set()
