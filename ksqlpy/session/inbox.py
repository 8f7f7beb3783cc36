"""Rows on their way from the thread that makes them to who reads a result."""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from ksqlpy.atwork import step, waiting
from ksqlpy.session.rows import Column

__all__ = ["AHEAD", "Given", "Inbox", "Opened", "Some"]

AHEAD = 10_000
"""Rows that are read before they are taken; then the query waits."""

S = TypeVar("S", bound=Sequence[Any])


class Some(Protocol):
    """Records of a query, or rows in another form: see :class:`ksqlpy.reading.pieces.Piece`."""

    def __len__(self) -> int: ...
    def rows(self) -> list[list[Any]]: ...
    def batches(self) -> Iterator[Any]: ...
    def joined(self, others: Sequence[Any]) -> Some: ...


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

    def take_batches(self, least: int) -> Sequence[Any] | None:
        """Rows for Arrow: each a list of rows, or a ``pyarrow.RecordBatch`` of them; waits until so many are there.

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

    def take_batches(self, least: int) -> Sequence[Any] | None:
        """The same."""
        rows = self.take(None)
        return None if rows is None else [rows]

    def close(self) -> None:
        """There is nothing to end."""
        self._rows = None


class Inbox:
    """The rows of a query that a thread of its own reads, so that neither a signal nor a close hits it in its work."""

    def __init__(
        self,
        query_id: str,
        columns: tuple[Column, ...],
        items: Generator[Any, None, None],
        end: Callable[[], None],
        limit: int | None = None,
    ) -> None:
        """``items``: gives rows, each a list, and :class:`Some`; None when nothing has come for a while.

        ``end``: ends the query, so that ``items`` ends. ``limit``: how many rows are taken before it is ended here.
        """
        self.query_id = query_id
        self.columns = columns
        self.tell: Callable[[], None] = lambda: None
        self._source = items
        self._end = end
        self._items: deque[Any] = deque()
        self._put = self._got = 0
        """Rows and records that have come, and that were taken: each is written by one thread."""
        self._left = limit
        self._come = threading.Event()
        self._space = threading.Condition()
        self._over = self._closed = False
        self._failure: BaseException | None = None
        work = contextvars.copy_context().run
        self._thread = threading.Thread(target=work, args=(self._read,), name=f"rows of {query_id}", daemon=True)
        self._thread.start()
        if limit == 0:
            self.close()

    def _read(self) -> None:
        items, come = self._items, self._come
        try:
            for item in self._source:
                if self._closed:
                    break
                if item is None:
                    continue
                items.append(item)
                self._put += 1 if type(item) is list else len(item)
                if not come.is_set():
                    come.set()
                    self.tell()
                if self._put - self._got >= AHEAD:
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
            self._space.wait_for(lambda: self._put - self._got < AHEAD or self._closed)

    def take(self, seconds: float | None) -> Sequence[Sequence[Any]] | None:
        """See :class:`Opened`."""
        while items := self._taken(seconds):
            rows: list[Any] = []
            for item in items:
                if type(item) is list:
                    rows.append(item)
                else:
                    rows += item.rows()
            if rows := self._wanted(rows):
                return rows
        return items

    def take_batches(self, least: int) -> Sequence[Any] | None:
        """See :class:`Opened`."""
        found: list[Any] = []
        count = 0
        while (items := self._taken(None)) is not None:
            found += items
            count += sum(1 if type(item) is list else len(item) for item in items)
            if count >= least or (self._left is not None and count >= self._left):
                break
        if not found:
            return None
        batches = (self._wanted(batch) for batch in _batches(found))
        return [batch for batch in batches if len(batch)]

    def _taken(self, seconds: float | None) -> Sequence[Any] | None:
        """What has come, as :meth:`take`."""
        if self._left == 0:
            return None
        if not self._come.wait(seconds):
            return ()
        # In this order: what comes behind the look is found at the next one.
        over = self._over
        if not over:
            self._come.clear()
            if self._over:
                self._come.set()
        items = self._items
        taken = [items.popleft() for _ in range(len(items))]
        self._got += sum(1 if type(item) is list else len(item) for item in taken)
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

    def _wanted(self, rows: S) -> S:
        """Rows up to the limit, at which the query is ended."""
        if self._left is None:
            return rows
        wanted: Any = rows[: self._left]  # of a record batch a part without a copy
        self._left -= len(wanted)
        if self._left == 0:
            self.close()
        found: S = wanted
        return found

    def close(self) -> None:
        """See :class:`Opened`. Its thread ends as soon as it has what it waits for: half a second at most."""
        self._closed = True
        with self._space:
            self._space.notify()
        self._end()
        self._come.set()


def _batches(items: Sequence[Any]) -> Iterator[Any]:
    """Rows that follow one another as a list of them, and what is there in other forms as record batches."""
    rows: list[Any] = []
    some: list[Some] = []
    for item in items:
        if type(item) is list:
            if some:
                yield from some[0].joined(some[1:]).batches()
                some = []
            rows.append(item)
        else:
            if rows:
                yield rows
                rows = []
            some.append(item)
    if rows:
        yield rows
    if some:
        yield from some[0].joined(some[1:]).batches()
