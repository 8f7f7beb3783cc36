"""Connections in their TLS handshake: how many there are. Beyond that those that began first are closed.

hypercorn bounds their time, not their number, and asyncio tells of a connection with TLS only when its handshake is
over. So connections are accepted here, and hypercorn gets those that have shaken hands. A handshake takes a client two
messages: of a crowd that sends none, those that wait longest go first, so that others get through beside it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import hypercorn.asyncio.run

__all__ = ["install", "limit"]

_log = logging.getLogger("ksqlpy.server")

AGAIN = 1.0
"""Seconds after which connections are accepted again, where there are no file descriptors."""

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class _Handshakes:
    """Those of this process, and how many there may be."""

    def __init__(self) -> None:
        self.most = 1_250
        self.open: dict[asyncio.Task[None], None] = {}  # those that began first come first
        self.ended = 0

    def make_room(self) -> None:
        """One more can begin then."""
        while len(self.open) >= self.most:
            oldest = next(iter(self.open))
            del self.open[oldest]
            oldest.cancel()
            self.ended += 1
            if self.ended & (self.ended - 1) == 0:  # now and then
                _log.warning("%d TLS handshakes were open: %d of them were ended", self.most, self.ended)

    def add(self, task: asyncio.Task[None]) -> None:
        """It has begun."""
        self.open[task] = None
        task.add_done_callback(lambda done: self.open.pop(done, None))


_ALL = _Handshakes()


def limit(connections: int) -> None:
    """A quarter as many handshakes may be open as there may be connections."""
    _ALL.most = max(1, connections // 4)


class _Door:
    """A socket that listens, and hands on those who have shaken hands; as asyncio's servers have it."""

    def __init__(self, listener: socket.socket, serve: Serve, context: ssl.SSLContext, seconds: float | None) -> None:
        self._listener = listener
        self._serve = serve
        self._context = context
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._begun: set[asyncio.Task[None]] = set()
        self._later: asyncio.TimerHandle | None = None
        listener.setblocking(False)
        self._open()

    def _open(self) -> None:
        self._later = None
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        """One in a round of the loop, as of each listening descriptor without TLS."""
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionError):
            return
        except OSError as e:
            _log.warning("connections are not accepted for %g s: %s", AGAIN, e.strerror or e)
            self._loop.remove_reader(self._listener)
            self._later = self._loop.call_later(AGAIN, self._open)
            return
        connection.setblocking(False)
        _ALL.make_room()
        task = self._loop.create_task(self._shake(connection))
        _ALL.add(task)
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)

    async def _shake(self, connection: socket.socket) -> None:
        """Returns when the connection is served, or has ended: what fails here is the client's matter."""
        protocol = partial(asyncio.StreamReaderProtocol, asyncio.StreamReader(), self._serve)
        try:
            await self._loop.connect_accepted_socket(
                protocol, connection, ssl=self._context, ssl_handshake_timeout=self._seconds
            )
        except OSError as e:  # also what TLS refuses
            _log.debug("a TLS handshake failed: %s", e)

    def close(self) -> None:
        """Ends it, and the handshakes."""
        if self._later is not None:
            self._later.cancel()
        self._loop.remove_reader(self._listener)
        self._listener.close()
        for task in self._begun:
            task.cancel()

    async def wait_closed(self) -> None:
        """Returns when the handshakes have ended."""
        await asyncio.gather(*self._begun, return_exceptions=True)


class _Asyncio:
    """asyncio, as hypercorn gets it: with a server of ours for TLS."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    @staticmethod
    async def start_server(
        serve: Serve,
        *,
        sock: socket.socket,
        backlog: int,
        ssl: ssl.SSLContext | None = None,
        ssl_handshake_timeout: float | None = None,
    ) -> asyncio.Server | _Door:
        """As asyncio's. The socket listens already, or does from now on."""
        if ssl is None:
            return await asyncio.start_server(serve, sock=sock, backlog=backlog)
        sock.listen(backlog)
        return _Door(sock, serve, ssl, ssl_handshake_timeout)


def install() -> None:
    """Lets hypercorn use this for its listeners with TLS from now on."""
    hypercorn.asyncio.run.asyncio = _Asyncio()  # type: ignore[attr-defined, assignment]  # imported there, not exported
