"""Connections: how many there are, and how long one may be open that asks nothing.

hypercorn closes a connection whose client has left only when its time of rest is over, and does not limit their number.
Here a connection ends with its client; one that has sent no whole request gets less time; and where there are too many,
those that have rested longest are closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
from collections.abc import Iterator
from typing import Any

import hypercorn.asyncio.run
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.events import Closed, Event, Updated

__all__ = ["FIRST", "install", "limit", "more_descriptors"]

_log = logging.getLogger("ksqlpy.server")

FIRST = 30.0
"""Seconds that a new connection gets for the head of its first request."""

LOOK = 5.0
"""Seconds between two looks whether a client has left of whom nothing is read."""

DESCRIPTORS = 65_536
"""File descriptors that the server asks for: connections, topics, RocksDB's files."""


class _Connections:
    """Those of this process, and how many there may be."""

    def __init__(self) -> None:
        self.most = 5_000
        self.open = 0
        self.resting: dict[Connection, None] = {}  # those that rest longest come first
        self.refused = 0

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
    """So many connections may be open, but no more than half of the file descriptors."""
    _ALL.most = max(1, min(most, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2))


def more_descriptors() -> None:
    """Raises the soft limit of this process and its children, as far as it may: many systems begin with 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Connection(TCPServer):
    """hypercorn's connection over TCP or a Unix socket."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._asked = False

    async def run(self) -> None:
        """Serves it until it ends."""
        if not _ALL.room():
            self.writer.transport.abort()
            return
        with self._counted():
            await super().run()

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

    async def protocol_send(self, event: Event) -> None:
        """Notes when it asks and when it rests."""
        if isinstance(event, Updated):
            _ALL.resting.pop(self, None)
            if event.idle:
                _ALL.resting[self] = None
            else:
                self._asked = True
        await super().protocol_send(event)

    async def _read_data(self) -> None:
        """Reads until the client has left; also where it has sent more than its request, which hypercorn reads behind
        the answer only: the end of a push query that nobody wants would never be seen."""
        reading = asyncio.create_task(super()._read_data())
        left = False
        try:
            while not reading.done():
                await asyncio.wait({reading}, timeout=LOOK)
                if left and not reading.done():
                    reading.cancel()
                    await asyncio.wait({reading})
                    await self.protocol.handle(Closed())
                # at_eof() is false while something is unread; a connection that was reset has no end, but an error
                left = self.reader._eof or self.writer.transport.is_closing()  # type: ignore[attr-defined]
            if not reading.cancelled():
                reading.result()
        finally:
            reading.cancel()
        await self.idle_task.stop()

    async def _idle_timeout(self) -> None:
        if not self._asked:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.context.terminated.wait(), FIRST)
            await asyncio.shield(self._initiate_server_close())
            return
        await super()._idle_timeout()


def install() -> None:
    """Lets hypercorn use these for all connections from now on."""
    hypercorn.asyncio.run.TCPServer = Connection  # type: ignore[attr-defined, assignment]  # imported there, not exported
