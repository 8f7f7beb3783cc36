"""Serving: the server process, and a server in a thread.

hypercorn serves HTTP/1.1 and cleartext HTTP/2 (prior knowledge and upgrade) on one port, which ksqlDB's clients need.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import ssl
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType

import uvloop
from hypercorn.asyncio import serve as hypercorn_serve
from hypercorn.config import Config as HypercornConfig
from starlette.applications import Starlette

from ksqlpy.config import Config
from ksqlpy.embedded.folders import kept
from ksqlpy.errors import KsqlError
from ksqlpy.server import connections, frames, handshakes, strict
from ksqlpy.server.app import create_app
from ksqlpy.server.backend import Backend, Engine, State
from ksqlpy.server.certificates import HANDSHAKE, Certificates, quiet
from ksqlpy.server.listeners import BACKLOG, Listeners, listen
from ksqlpy.server.readers import Readers
from ksqlpy.server.service_manager import ServiceManager
from ksqlpy.tracing import sending

__all__ = ["ServerThread", "hypercorn", "listen", "serve"]

Progress = Callable[[str], None]

PATIENCE = 5
"""Seconds that requests get to end when the server stops."""
LATEST = 17
"""Seconds after which a server that is told to stop ends without the brokers, if those are away."""
LOOK = 0.5
"""Seconds between two looks at whether the engine goes on."""


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
    manager = ServiceManager()

    def told(text: str) -> None:
        if text:
            manager.status(text)
        if progress is not None:
            progress(text)

    with sending(config), Listeners.of(config) as listeners:
        if engine is None:
            from ksqlpy.runtime import Engine as SparkEngine

            engine = SparkEngine(config, told)
        with Readers(config.number("ksqlpy.readers")) as readers:
            uvloop.run(_serve(Backend(engine, State.STARTING), listeners, readers, told, manager))


async def _serve(
    backend: Backend, listeners: Listeners, readers: Readers, progress: Progress, manager: ServiceManager
) -> None:
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
    app = create_app(backend, readers.secret)
    serving = asyncio.create_task(hypercorn(app, listeners, end.wait, readers.binds))
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
            app.state.sampler.begin()
            gc.freeze()  # a full collection of what the start has made would hold all threads for tenths of a second
            readers.start(backend.engine.config, listeners.sockets)
            config = backend.engine.config  # with the address of a broker that the engine has started
            print(f"Kafka   {config.get('bootstrap.servers')}")
            print(f"data    {kept(config.get('ksqlpy.data.dir'))}")
            print(f"ksqlpy server is ready at {', '.join(listeners.urls)}", flush=True)
            manager.ready(f"ready at {', '.join(listeners.urls)}")
            lost = asyncio.create_task(_lost(backend.engine))
            await asyncio.wait({stopping, serving, lost}, return_when=asyncio.FIRST_COMPLETED)
            if lost.done():
                await lost
            lost.cancel()
    finally:
        manager.stopping()
        progress("stopping")
        stopping.cancel()
        await _end(backend, end, serving)
        await asyncio.to_thread(backend.engine.stop)
        if app.state.audit is not None:
            await asyncio.to_thread(app.state.audit.close)
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


class _Config(HypercornConfig):
    """hypercorn's, with TLS of a context that is renewed."""

    certificates: Certificates | None = None

    @property
    def ssl_enabled(self) -> bool:
        """Whether some of the binds speak TLS."""
        return self.certificates is not None

    def create_ssl_context(self) -> ssl.SSLContext | None:
        """That of the certificates."""
        return None if self.certificates is None else self.certificates.context


async def hypercorn(
    app: Starlette, listeners: Listeners, end: Callable[..., Awaitable[object]], more: Sequence[str] = ()
) -> None:
    """Serves an application until ``end`` returns; ``more``: where without TLS, too, as hypercorn has it."""
    config = _Config()
    config.certificates = listeners.certificates
    plain, secure = [*listeners.binds(tls=False), *more], listeners.binds(tls=True)
    config.bind, config.insecure_bind = (secure, plain) if config.ssl_enabled else (plain, [])
    config.ssl_handshake_timeout = HANDSHAKE
    config.loglevel = "WARNING"
    config.errorlog = logging.getLogger("hypercorn.error")  # else it writes onto the terminal, whatever is drawn there
    config.include_server_header = False
    config.backlog = BACKLOG
    config.keep_alive_timeout = 600  # clients keep a session open between statements; ksqlDB's default too
    config.keep_alive_max_requests = 2**62  # ending a connection would end the push queries that share it
    config.h2_max_concurrent_streams = 1000
    config.graceful_timeout = 3
    frames.install()
    connections.install()
    handshakes.install()
    strict.install()
    asyncio.get_running_loop().set_exception_handler(quiet)
    watch = asyncio.create_task(listeners.certificates.watch()) if listeners.certificates is not None else None
    try:
        await hypercorn_serve(app, config, shutdown_trigger=end)  # type: ignore[arg-type]
    finally:
        if watch is not None:
            watch.cancel()


class ServerThread:
    """A server for an engine that runs already, in a thread with its own event loop; a context manager.

    ``url``: where it listens. The engine is neither started nor stopped. Raises what :func:`listen` raises.
    """

    def __init__(
        self,
        engine: Engine | Backend,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        insecure: bool = False,
        listeners: Listeners | None = None,
    ) -> None:
        """``listeners``: where, in place of the address that host, port and insecure say."""
        self.backend = engine if isinstance(engine, Backend) else Backend(engine)
        self._listeners = listeners or Listeners([(listen(host, port, insecure=insecure), False)])
        self.url = self._listeners.urls[0]
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._running = threading.Event()
        self._thread = threading.Thread(target=lambda: uvloop.run(self._serve()), name="server", daemon=True)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        end = asyncio.Event()
        app = create_app(self.backend)
        serving = asyncio.create_task(hypercorn(app, self._listeners, end.wait))
        stopping = asyncio.create_task(self._stop.wait())
        self._running.set()
        await asyncio.wait({stopping, serving}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        await _end(self.backend, end, serving)
        if app.state.audit is not None:
            app.state.audit.close()

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
        self._listeners.close()
