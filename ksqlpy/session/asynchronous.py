"""The same session for asyncio: what may wait is done by threads of the session, and awaited.

Rows of open queries come from a thread of their own each, so that many of them can be waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Any, Literal, ParamSpec, Self, TypeVar

from ksqlpy.session.answers import Answer
from ksqlpy.session.inloop import InLoop
from ksqlpy.session.misuse import session_closed
from ksqlpy.session.persistent import Query
from ksqlpy.session.result import Result
from ksqlpy.session.rows import Column, Row
from ksqlpy.session.session import Session
from ksqlpy.session.subscriptions import Subscription
from ksqlpy.session.tables import Table

__all__ = ["AsyncEngine", "AsyncQuery", "AsyncResult", "AsyncSession", "AsyncSubscription", "AsyncTable"]

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 32
"""Calls of one session at one time; more of them wait."""


class _Threads:
    """The threads of a session."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, "ksqlpy session")

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls it in a thread. One that is cancelled while it waits goes on there, and is not heard of."""
        work = partial(contextvars.copy_context().run, function, *args, **kwargs)
        try:
            done = asyncio.get_running_loop().run_in_executor(self._pool, work)
        except RuntimeError as e:  # no more are taken
            raise session_closed() from e
        return await done

    def close(self) -> None:
        self._pool.shutdown(wait=False)


class AsyncSession:
    """A session for asyncio: see :class:`ksqlpy.Session`, whose methods are coroutines here.

    It opens where it is awaited, or entered with ``async with``, which also closes it.
    """

    def __init__(self, opened: Callable[[], Session]) -> None:
        """``opened``: opens the session that does the work."""
        self._opened = opened
        self._session: Session | None = None
        self._threads = _Threads()
        self._turn = asyncio.Lock()
        self._closed = False

    def __await__(self) -> Generator[Any, None, Self]:
        return self._open().__await__()

    async def _open(self) -> Self:
        async with self._turn:  # of two tasks that open it the second waits for the first
            if self._session is None:
                opening = asyncio.ensure_future(self._threads.run(self._opened))
                try:
                    opened = await asyncio.shield(opening)
                except asyncio.CancelledError:
                    opening.add_done_callback(_close_unwanted)
                    raise
                if self._closed:  # meanwhile
                    _close_unwanted(opening)
                    raise session_closed()
                self._session = opened
        return self

    @property
    def _there(self) -> Session:
        if self._session is None:
            raise session_closed(before=not self._closed)
        return self._session

    @property
    def properties(self) -> dict[str, object]:
        """Of its statements and queries, as SET and UNSET change them."""
        return self._there.properties

    @property
    def variables(self) -> dict[str, str]:
        """Values of ``${name}`` in texts, as DEFINE and UNDEFINE change them."""
        return self._there.variables

    async def sql(self, text: str, /, **variables: object) -> list[Answer]:
        """See :meth:`ksqlpy.Session.sql`."""
        return await self._threads.run(self._there.sql, text, **variables)

    async def query(
        self, text: str, /, *, properties: Mapping[str, object] | None = None, **values: object
    ) -> AsyncResult:
        """See :meth:`ksqlpy.Session.query`; ``async for row in await session.query(…)``."""
        asked: Callable[[], Result] = partial(self._there.query, text, properties=properties, **values)
        opening = asyncio.ensure_future(self._threads.run(asked))
        try:
            return AsyncResult(await asyncio.shield(opening), self._threads)
        except asyncio.CancelledError:
            opening.add_done_callback(_close_unwanted)
            raise

    async def insert(self, source: str, rows: Iterable[object] | object) -> int:
        """See :meth:`ksqlpy.Session.insert`; ``rows`` are taken in another thread."""
        return await self._threads.run(self._there.insert, source, rows)

    async def table(self, name: str) -> AsyncTable:
        """See :meth:`ksqlpy.Session.table`."""
        return AsyncTable(await self._threads.run(self._there.table, name), self._threads)

    def subscribe(
        self,
        text: str,
        /,
        *,
        name: str,
        to: str | None = None,
        on_error: Literal["stop", "skip", "retry"] = "stop",
        properties: Mapping[str, object] | None = None,
        **values: object,
    ) -> Callable[[Callable[[Row], object]], AsyncSubscription]:
        """See :meth:`ksqlpy.Session.subscribe`; for coroutines, asynchronous generators, and functions.

        They run in the loop. What is wrong with the query is raised by :meth:`AsyncSubscription.wait`.
        """
        loop = asyncio.get_running_loop()
        asked = partial(
            self._there.subscribe, text, name=name, to=to, on_error=on_error, properties=properties, **values
        )

        def start(function: Callable[[Row], object]) -> AsyncSubscription:
            opening = self._threads.run(lambda: asked()(InLoop(function, loop)))
            return AsyncSubscription(name, function, asyncio.ensure_future(opening), self._threads)

        return start

    async def register(self, function: T, *, name: str | None = None) -> T:
        """See :meth:`ksqlpy.Session.register`."""
        return await self._threads.run(partial(self._there.register, function, name=name))

    async def queries(self) -> list[AsyncQuery]:
        """See :meth:`ksqlpy.Session.queries`."""
        return [AsyncQuery(q, self._threads) for q in await self._threads.run(self._there.queries)]

    async def persistent(self, query_id: str) -> AsyncQuery:
        """See :meth:`ksqlpy.Session.persistent`."""
        return AsyncQuery(await self._threads.run(self._there.persistent, query_id), self._threads)

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    async def close(self) -> None:
        """See :meth:`ksqlpy.Session.close`; it comes to its end where who waits for it is cancelled."""
        self._closed = True
        if self._session is not None and not self._session.closed:
            await asyncio.shield(asyncio.ensure_future(self._threads.run(self._session.close)))
        self._threads.close()

    async def __aenter__(self) -> Self:
        return await self._open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncResult(AsyncIterator[Row]):
    """The rows of a query, see :class:`ksqlpy.Result`; read by one task at a time."""

    def __init__(self, result: Result, threads: _Threads) -> None:
        self.columns: tuple[Column, ...] = result.columns
        self.query_id: str = result.query_id
        self._result = result
        self._threads = threads
        self._rows: Iterator[Row] = iter(())
        self._come = asyncio.Event()
        self._come.set()
        self._listen(asyncio.get_running_loop())

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        come = self._come
        self._result.listen(lambda: _in_loop(loop, come.set))

    def __aiter__(self) -> Self:
        self._result.check()
        return self

    async def __anext__(self) -> Row:
        row = next(self._rows, None)
        while row is None:
            self._come.clear()
            taken = self._result.ready()
            if taken is None:
                raise StopAsyncIteration
            if not taken:
                await self._come.wait()
            self._rows = iter(taken)
            row = next(self._rows, None)
        return row

    async def fetchone(self) -> Row | None:
        """See :meth:`ksqlpy.Result.fetchone`."""
        self._result.check()
        return await anext(self, None)

    async def fetchmany(self, size: int = 1) -> list[Row]:
        """See :meth:`ksqlpy.Result.fetchmany`."""
        self._result.check()
        found: list[Row] = []
        while len(found) < size and (row := await anext(self, None)) is not None:
            found.append(row)
        return found

    async def fetchall(self) -> list[Row]:
        """See :meth:`ksqlpy.Result.fetchall`."""
        self._result.check()
        return [row async for row in self]

    async def close(self) -> None:
        """See :meth:`ksqlpy.Result.close`."""
        self._rows = iter(())
        self._result.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncTable:
    """A table by its keys, see :class:`ksqlpy.Table`: ``await table[key]``."""

    def __init__(self, table: Table, threads: _Threads) -> None:
        self._table = table
        self._threads = threads

    @property
    def name(self) -> str:
        """Its name."""
        return self._table.name

    async def __getitem__(self, key: object) -> Row:
        return await self._threads.run(self._table.__getitem__, key)

    async def get(self, key: object, default: Any = None, *, wait: float | None = None) -> Any:
        """See :meth:`ksqlpy.Table.get`."""
        return await self._threads.run(partial(self._table.get, key, default, wait=wait))

    async def range(self, key: object, start: Any = None, end: Any = None, *, wait: float | None = None) -> list[Row]:
        """See :meth:`ksqlpy.Table.range`."""
        return await self._threads.run(partial(self._table.range, key, start, end, wait=wait))

    async def items(self) -> AsyncIterator[tuple[Any, Row]]:
        """See :meth:`ksqlpy.Table.items`."""
        found = self._table.items()
        try:
            while some := await self._threads.run(_some, found):
                for item in some:
                    yield item
        finally:
            await asyncio.shield(asyncio.ensure_future(self._threads.run(found.close)))


class AsyncQuery:
    """A persistent query, see :class:`ksqlpy.Query`."""

    def __init__(self, query: Query, threads: _Threads) -> None:
        self.id = query.id
        self.sql = query.sql
        self.sink = query.sink
        self.sources = query.sources
        self._query = query
        self._threads = threads

    async def state(self) -> str:
        """See :attr:`ksqlpy.Query.state`."""
        return await self._threads.run(lambda: self._query.state)

    async def figures(self) -> dict[str, Any]:
        """See :meth:`ksqlpy.Query.figures`."""
        return await self._threads.run(self._query.figures)

    async def pause(self) -> None:
        """See :meth:`ksqlpy.Query.pause`."""
        await self._threads.run(self._query.pause)

    async def resume(self) -> None:
        """See :meth:`ksqlpy.Query.resume`."""
        await self._threads.run(self._query.resume)

    async def rewind(self, to: datetime | None = None) -> None:
        """See :meth:`ksqlpy.Query.rewind`."""
        await self._threads.run(partial(self._query.rewind, to))

    async def terminate(self) -> None:
        """See :meth:`ksqlpy.Query.terminate`."""
        await self._threads.run(self._query.terminate)

    async def wait(self, *, caught_up: bool = True, timeout: float = 60.0) -> None:
        """See :meth:`ksqlpy.Query.wait`."""
        await self._threads.run(partial(self._query.wait, caught_up=caught_up, timeout=timeout))


class AsyncSubscription:
    """A coroutine that is called for each row of a query, see :class:`ksqlpy.Subscription`."""

    def __init__(
        self, name: str, function: Callable[[Row], object], opening: asyncio.Future[Subscription], threads: _Threads
    ) -> None:
        self.name = name
        self._function = function
        self._opening = opening
        self._threads = threads

    def __call__(self, row: Any) -> Any:
        """Calls the coroutine itself."""
        return self._function(row)

    @property
    def _opened(self) -> Subscription | None:
        done = self._opening.done() and not self._opening.cancelled() and self._opening.exception() is None
        return self._opening.result() if done else None

    @property
    def acknowledged(self) -> int:
        """See :attr:`ksqlpy.Subscription.acknowledged`."""
        return self._opened.acknowledged if self._opened is not None else 0

    @property
    def skipped(self) -> int:
        """See :attr:`ksqlpy.Subscription.skipped`."""
        return self._opened.skipped if self._opened is not None else 0

    @property
    def running(self) -> bool:
        """See :attr:`ksqlpy.Subscription.running`."""
        return self._opened.running if self._opened is not None else not self._opening.done()

    async def wait(self, timeout: float | None = None, *, rows: int | None = None) -> bool:
        """See :meth:`ksqlpy.Subscription.wait`; raises KsqlError also for what is wrong with the query."""
        opened = await asyncio.shield(self._opening)
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        # Not in a thread of the session: with as many of them waiting as it has, nothing else could be done.
        with opened.listened(lambda: _in_loop(loop, changed.set)):
            try:
                async with asyncio.timeout(timeout):
                    while not opened.done(rows):
                        await changed.wait()
                        changed.clear()
            except TimeoutError:
                pass
        opened.check(rows)
        return opened.done(rows)

    async def stop(self, timeout: float | None = None) -> None:
        """See :meth:`ksqlpy.Subscription.stop`."""
        opened = await asyncio.shield(self._opening)
        await self._threads.run(opened.stop, timeout)


def _in_loop(loop: asyncio.AbstractEventLoop, work: Callable[[], None]) -> None:
    """Has a loop do it, by any thread, unless it is gone."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(work)


_AT_ONCE = 1_000
"""Rows of a table that one call of a thread reads."""


def _some(items: Iterator[tuple[Any, Row]]) -> list[tuple[Any, Row]]:
    return [item for item, _ in zip(items, range(_AT_ONCE), strict=False)]


def _close_unwanted(opening: asyncio.Future[Any]) -> None:
    """Ends what was opened for somebody who was cancelled meanwhile; in a thread, as it may take long."""
    if not opening.cancelled() and opening.exception() is None:
        threading.Thread(target=opening.result().close, name="session end").start()


class AsyncEngine(AsyncSession):
    """An embedded engine for asyncio, which starts where it is awaited or entered: see :class:`ksqlpy.Engine`."""

    def __init__(
        self,
        bootstrap_servers: str | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        config: Mapping[str, object] | None = None,
        *,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        """See :class:`ksqlpy.Engine`."""
        from ksqlpy.session.embedded import Engine

        super().__init__(partial(Engine, bootstrap_servers, data_dir, config, progress=progress))

    @property
    def bootstrap_servers(self) -> str:
        """Addresses of the brokers, for Kafka's clients beside it."""
        from ksqlpy.session.embedded import Engine

        assert isinstance(self._there, Engine)
        return self._there.bootstrap_servers
