"""Serving: the server process, and a server in a thread.

hypercorn serves HTTP/1.1 and cleartext HTTP/2 (prior knowledge and upgrade) on one port, which ksqlDB's clients need.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import ipaddress
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from types import TracebackType

import uvloop
from hypercorn.asyncio import serve as hypercorn_serve
from hypercorn.config import Config as HypercornConfig
from starlette.applications import Starlette

from ksqlpy.config import Config
from ksqlpy.embedded.folders import kept
from ksqlpy.errors import ConfigProblem, EnvironmentProblem, KsqlError
from ksqlpy.server import connections, frames, strict
from ksqlpy.server.app import create_app
from ksqlpy.server.auth.login import is_configured
from ksqlpy.server.backend import Backend, Engine, State
from ksqlpy.server.readers import Readers

__all__ = ["ServerThread", "binds", "hypercorn", "listen", "serve"]

Progress = Callable[[str], None]

PATIENCE = 5
"""Seconds that requests get to end when the server stops."""
LATEST = 17
"""Seconds after which a server that is told to stop ends without the brokers, if those are away."""
LOOK = 0.5
"""Seconds between two looks at whether the engine goes on."""


def listen(host: str, port: int, *, insecure: bool = False) -> socket.socket:
    """A socket that listens; port 0 takes a free one.

    ``insecure``: whether it may be an address that other machines reach. Raises ConfigProblem
    ``address-insecure``, EnvironmentProblem ``port-in-use`` and ``address-unusable``.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        if not insecure and not ipaddress.ip_address(address[0]).is_loopback:
            raise _insecure(host)
        listener = socket.socket(family, kind, protocol)
    except OSError as e:
        raise _unusable(host, port, e) from e
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
        listener.listen(BACKLOG)  # at once: two sockets may be bound to one port as long as neither listens
    except OSError as e:
        listener.close()
        if e.errno == errno.EADDRINUSE:
            raise EnvironmentProblem(
                "port-in-use",
                f"port {port} on {host} is in use by another program",
                hint="take another one with --port N (0: any free one), or stop the other program",
            ) from e
        raise _unusable(host, port, e) from e
    return listener


BACKLOG = 4096
"""Connections that wait until they are accepted. A client beyond them hears nothing, and asks again in a second."""

ACCEPTS = 16
"""Connections that are accepted in a round of the event loop: libuv accepts one for each descriptor that listens. A
client behind a crowd would wait as many rounds as there are others."""

SWITCH = 0.0005
"""Seconds after which a thread at work in Python makes room for others. By Python's own 5 ms a request would take some
tenths of a second beside a thread that reads a long statement, as it comes to its turn several times."""

COLLECT = 2_000, 20, 100
"""When Python looks for garbage in cycles. By its own 700 objects, the tokens of a statement of 1 MiB would be looked
through again and again, 0.1 s each time, in which no thread runs."""


def serve(config: Config, progress: Progress | None = None, engine: Engine | None = None) -> None:
    """Runs the server until SIGINT or SIGTERM: starts the engine, serves the API, stops both.

    The port is taken first. While the engine starts, requests get 503. ``progress`` gets short texts about the start;
    addresses and data folder are printed when statements are taken. ``engine``: another one than the usual, not yet
    started.
    Raises what :func:`listen` and starting the engine raise, ServiceLost when another server has taken the service, and
    EngineProblem ``service-handed-over`` when a standby was given it.
    A second signal ends the process at once.
    """
    sys.setswitchinterval(SWITCH)
    gc.set_threshold(*COLLECT)
    connections.more_descriptors()
    connections.limit(config.number("ksqlpy.connections.max"))
    insecure = config.get("ksqlpy.insecure") == "true" or is_configured(config)
    listener = listen(config.get("ksqlpy.host"), config.number("ksqlpy.port"), insecure=insecure)
    with listener:
        if engine is None:
            from ksqlpy.runtime import Engine as SparkEngine

            engine = SparkEngine(config, progress)
        with Readers(config.number("ksqlpy.readers")) as readers:
            uvloop.run(_serve(Backend(engine, State.STARTING), listener, readers, progress or (lambda text: None)))


async def _serve(backend: Backend, listener: socket.socket, readers: Readers, progress: Progress) -> None:
    loop = asyncio.get_running_loop()
    stop, end = asyncio.Event(), asyncio.Event()

    def interrupted() -> None:
        if stop.is_set():
            os._exit(130)
        stop.set()
        backend.engine.cancel()
        threading.Thread(target=_end_without_brokers, args=(backend.engine,), name="latest", daemon=True).start()

    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, interrupted)
    places = [*binds(listener.fileno()), *readers.binds]
    serving = asyncio.create_task(hypercorn(create_app(backend), places, end.wait))
    starting = asyncio.create_task(asyncio.to_thread(backend.engine.start))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({starting, stopping, serving}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            progress("stopping: the engine has to finish its start first")
        try:
            await starting
        except KsqlError:
            if not stop.is_set():  # else it stood by, and nobody wants it any more
                raise
        progress("")
        if not stop.is_set():
            backend.state = State.READY
            gc.freeze()  # a full collection of what the start has made would hold all threads for tenths of a second
            readers.start(backend.engine.config, listener)
            config = backend.engine.config  # with the address of a broker that the engine has started
            print(f"Kafka   {config.get('bootstrap.servers')}")
            print(f"data    {kept(config.get('ksqlpy.data.dir'))}")
            print(f"ksqlpy server is ready at {_url(listener)}", flush=True)
            lost = asyncio.create_task(_lost(backend.engine))
            await asyncio.wait({stopping, serving, lost}, return_when=asyncio.FIRST_COMPLETED)
            if lost.done():
                await lost
            lost.cancel()
    finally:
        progress("stopping")
        stopping.cancel()
        await _end(backend, end, serving)
        await asyncio.to_thread(backend.engine.stop)
        progress("")


def _end_without_brokers(engine: Engine) -> None:
    """Ends the process when start or stop wait for brokers that are away; what is done is safe, as after a kill."""
    time.sleep(LATEST)
    while not engine.cut_short():
        time.sleep(1)
    print("Kafka does not answer: the server ends without it", file=sys.stderr, flush=True)
    os._exit(0)


async def _lost(engine: Engine) -> None:
    """Raises why the engine can do nothing any more, when that is so."""
    while (problem := engine.fatal()) is None:
        await asyncio.sleep(LOOK)
    raise problem


async def _end(backend: Backend, end: asyncio.Event, serving: asyncio.Task[None]) -> None:
    """Ends the push queries, then the server when all answers are sent."""
    await backend.shut_down()
    end.set()
    with contextlib.suppress(TimeoutError):  # a request that does not end
        await asyncio.wait_for(serving, PATIENCE)


async def hypercorn(app: Starlette, places: list[str], end: Callable[..., Awaitable[object]]) -> None:
    """Serves an application until ``end`` returns; ``places``: where, as hypercorn has it."""
    config = HypercornConfig()
    config.bind = places
    config.loglevel = "WARNING"
    config.errorlog = logging.getLogger("ksqlpy.server")  # else it writes onto the terminal, whatever is drawn there
    config.include_server_header = False
    config.backlog = BACKLOG
    config.keep_alive_timeout = 600  # clients keep a session open between statements; ksqlDB's default too
    config.keep_alive_max_requests = 2**62  # ending a connection would end the push queries that share it
    config.h2_max_concurrent_streams = 1000
    config.graceful_timeout = 3
    frames.install()
    connections.install()
    strict.install()
    await hypercorn_serve(app, config, shutdown_trigger=end)  # type: ignore[arg-type]


def binds(listener: int) -> list[str]:
    """Further descriptors of a socket that listens, as hypercorn has them, which closes those that it is given."""
    return [f"fd://{os.dup(listener)}" for _ in range(ACCEPTS)]


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _insecure(host: str) -> KsqlError:
    return ConfigProblem(
        "address-insecure",
        f"other machines can reach {host or 'all addresses'}, and the server asks nobody for a login:"
        " whoever reaches it could run statements",
        hint="set up a login, as with ksqlpy.auth.users.file, or listen on 127.0.0.1; --insecure listens all the same",
    )


def _unusable(host: str, port: int, error: OSError) -> KsqlError:
    return EnvironmentProblem(
        "address-unusable",
        f"the server cannot listen on {host}, port {port}: {error.strerror or error}",
        hint="name an address of this machine with --host and a port above 1023 with --port",
    )


class ServerThread:
    """A server for an engine that runs already, in a thread with its own event loop; a context manager.

    ``url``: where it listens. The engine is neither started nor stopped. Raises what :func:`listen` raises.
    """

    def __init__(
        self, engine: Engine | Backend, host: str = "127.0.0.1", port: int = 0, *, insecure: bool = False
    ) -> None:
        self.backend = engine if isinstance(engine, Backend) else Backend(engine)
        self._listener = listen(host, port, insecure=insecure)
        self.url = _url(self._listener)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._running = threading.Event()
        self._thread = threading.Thread(target=lambda: uvloop.run(self._serve()), name="server", daemon=True)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        end = asyncio.Event()
        serving = asyncio.create_task(hypercorn(create_app(self.backend), binds(self._listener.fileno()), end.wait))
        stopping = asyncio.create_task(self._stop.wait())
        self._running.set()
        await asyncio.wait({stopping, serving}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        await _end(self.backend, end, serving)

    def __enter__(self) -> ServerThread:
        self._thread.start()
        self._running.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._loop is not None and self._stop is not None
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._listener.close()
