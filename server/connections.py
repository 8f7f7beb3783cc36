"""Connections: how many there are, and how long one may be open that asks nothing.

hypercorn closes a connection whose client has left only when its time of rest is over, and does not limit their number.
Here a connection ends with its client; one that has sent no whole request gets less time; and where there are too many,
those that have rested longest are closed. One that has sent nothing costs next to nothing: what reads HTTP is made for
the first bytes, and its time of rest is a timer of the loop, where hypercorn has a task. Where many connections ask at
once, one of them begins in each round of the event loop, and those with a whole GET are not among those that wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import weakref
from collections import deque
from collections.abc import Iterator
from typing import Any

import hypercorn.asyncio.run
from hypercorn.asyncio.tcp_server import MAX_RECV, TCPServer
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.events import Closed, Event, RawData, Updated

from ksqlpy.server import handshakes

__all__ = ["FIRST", "install", "limit", "more_descriptors"]

_log = logging.getLogger("ksqlpy.server")

FIRST = 30.0
"""Seconds that a new connection gets for the head of its first request."""

LEAVING = 2.0
"""Seconds that a client which sends no more, and has sent more than one request, may wait for its answers."""

DESCRIPTORS = 65_536
"""File descriptors that the server asks for: connections, topics, RocksDB's files."""


class _Admission:
    """Lets one request begin in each round of the event loop: what is short is answered between them."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def wait(self) -> None:
        """Returns when the caller may begin."""
        loop = asyncio.get_running_loop()
        admitted: asyncio.Future[None] = loop.create_future()
        self._waiting.append(admitted)
        if len(self._waiting) == 1:
            loop.call_soon(self._next, loop)
        await admitted

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        admitted = self._waiting.popleft()
        if self._waiting:
            loop.call_soon(self._next, loop)
        if not admitted.done():  # else its task was cancelled
            admitted.set_result(None)


class _Connections:
    """Those of this process, and how many there may be."""

    def __init__(self) -> None:
        self.most = 5_000
        self.open = 0
        self.resting: dict[Connection, None] = {}  # those that rest longest come first
        self.refused = 0
        self._ends: weakref.WeakKeyDictionary[WorkerContext, asyncio.Task[None]] = weakref.WeakKeyDictionary()
        self._admissions: weakref.WeakKeyDictionary[WorkerContext, _Admission] = weakref.WeakKeyDictionary()

    def admission(self, context: WorkerContext) -> _Admission:
        """That of a server; there may be several in a process, each with a loop of its own."""
        return self._admissions.setdefault(context, _Admission())

    def watch(self, context: WorkerContext) -> None:
        """Those that rest end with the server."""
        if context not in self._ends:
            self._ends[context] = asyncio.create_task(self._end(context))

    async def _end(self, context: WorkerContext) -> None:
        await context.terminated.wait()
        for one in [c for c in self.resting if c.context is context]:
            one.over()

    def room(self) -> bool:
        """Whether one more may be open; one that rests makes room."""
        if self.open < self.most:
            return True
        oldest = next(iter(self.resting), None)
        if oldest is None:
            self.refused += 1
            if self.refused & (self.refused - 1) == 0:  # now and then
                _log.warning("%d connections are open: %d more were refused", self.open, self.refused)
            return False
        del self.resting[oldest]
        oldest.end()
        return True


_ALL = _Connections()


def limit(most: int) -> None:
    """So many connections may be open, but no more than half of the file descriptors; handshakes in proportion."""
    _ALL.most = max(1, min(most, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2))
    handshakes.limit(_ALL.most)


def more_descriptors() -> None:
    """Raises the soft limit of this process and its children, as far as it may: many systems begin with 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Rest:
    """The time of rest of a connection, in the place of hypercorn's task."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._timer: asyncio.TimerHandle | None = None

    async def restart(self, *_: object) -> None:
        """Its time starts over."""
        self.cancel()
        self._timer = self._connection.loop.call_later(self._connection.patience, self._connection.over)

    async def stop(self) -> None:
        """It does not rest."""
        self.cancel()

    def cancel(self) -> None:
        """As :meth:`stop`."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Connection(TCPServer):
    """hypercorn's connection over TCP or a Unix socket."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._asked = False
        self._began = self.loop.time()
        self._first = b""
        self._served = False
        self._reads: asyncio.Timeout | None = None
        self._left = False
        self.idle_task = _Rest(self)  # type: ignore[assignment]
        # The end of what a client sends is seen also where nothing is read: hypercorn reads no more while a request
        # waits behind one that is answered.
        feed_eof, set_exception = self.reader.feed_eof, self.reader.set_exception

        def at_end() -> None:
            self._leaves()
            feed_eof()

        def at_error(exc: Exception) -> None:
            self._leaves()
            set_exception(exc)

        self.reader.feed_eof = at_end  # type: ignore[method-assign]
        self.reader.set_exception = at_error  # type: ignore[method-assign]

    @property
    def patience(self) -> float:
        """Seconds that it may rest from now on."""
        if self.context.terminated.is_set():
            return 0.0
        return self.config.keep_alive_timeout if self._asked else max(0.0, self._began + FIRST - self.loop.time())

    async def run(self) -> None:
        """Serves it until it ends."""
        if not _ALL.room():
            self.writer.transport.abort()
            return
        _ALL.watch(self.context)
        with self._counted():
            await self.idle_task.restart(None, None)  # type: ignore[arg-type]
            with contextlib.suppress(OSError):
                self._first = await self.reader.read(MAX_RECV)
            if self._first:
                if not _is_short(self._first):
                    await _ALL.admission(self.context).wait()
                await super().run()
            else:
                await self._close()

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        _ALL.open += 1
        _ALL.resting[self] = None
        try:
            yield
        finally:
            _ALL.open -= 1
            _ALL.resting.pop(self, None)

    def end(self) -> None:
        """Ends it at once; it rests, so nothing of it is lost."""
        self.writer.transport.abort()

    def over(self) -> None:
        """Ends it in order; its time of rest is over."""
        if not self._served:  # it has sent nothing
            self.writer.close()
        else:
            self._task_group.spawn(self._initiate_server_close)

    async def protocol_send(self, event: Event) -> None:
        """Notes when it asks and when it rests."""
        if isinstance(event, Updated):
            _ALL.resting.pop(self, None)
            if event.idle:
                _ALL.resting[self] = None
            else:
                self._asked = True
        await super().protocol_send(event)

    def _leaves(self) -> None:
        self._left = True
        if self._reads is not None:
            self._reads.reschedule(self.loop.time() + LEAVING)

    async def _read_data(self) -> None:
        """Reads until the client has left; also where it has sent more than its request, which hypercorn reads behind
        the answer only: the end of a push query that nobody wants would never be seen."""
        self._served = True
        try:
            async with asyncio.timeout(LEAVING if self._left else None) as self._reads:
                try:
                    await self._reads_all()
                finally:
                    self._reads = None
        except TimeoutError:
            pass
        await self.protocol.handle(Closed())
        await self.idle_task.stop()

    async def _reads_all(self) -> None:
        """As hypercorn's, but for what has come already, and a client that leaves before it has asked."""
        data = self._first
        while True:
            await self.protocol.handle(RawData(data))
            if self.reader.at_eof():
                return
            try:
                data = await self.reader.read(MAX_RECV)
            except OSError:
                return
            if not data and not self._asked:  # a head without an end: nobody waits for its refusal
                return


def _is_short(data: bytes) -> bool:
    """Whether all of a request without a body is there."""
    return data.startswith(b"GET ") and b"\r\n\r\n" in data


def install() -> None:
    """Lets hypercorn use these for all connections from now on."""
    hypercorn.asyncio.run.TCPServer = Connection  # type: ignore[attr-defined, assignment]  # imported there, not exported
