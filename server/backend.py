"""What the endpoints share: the engine behind them, the state of the server, and the way into threads.

The engine blocks; nothing here may. Every call of it goes through :meth:`Backend.call`.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from fastapi import Request

from ksqlpy.access import Need
from ksqlpy.asker import LEFT
from ksqlpy.catalog import Column
from ksqlpy.config import Config
from ksqlpy.errors import EngineProblem, KsqlError
from ksqlpy.figures import EngineMetrics
from ksqlpy.reading.batch import Batch
from ksqlpy.reading.pieces import Pieces
from ksqlpy.server.bodies import disconnected
from ksqlpy.server.wire import negotiate
from ksqlpy.server.workers import Workers

if TYPE_CHECKING:
    from ksqlpy.runtime.editing import Editing
    from ksqlpy.udfs.pool import Workers as Python

__all__ = ["Backend", "Engine", "InsertStream", "PushQuery", "State", "Stream", "backend_of", "begin"]

T = TypeVar("T")

THREADS = 256
"""Calls of the engine at one time; more of them wait. Open push queries do not count: each has its own thread."""

HEALTH_THREADS = 8
"""Calls at one time of what tells whether the server is well."""


class Stream(Protocol):
    """What goes on until somebody ends it."""

    def close(self) -> None: ...


class InsertStream(Protocol):
    """What the server needs of a stream of rows: see :class:`ksqlpy.runtime.insertrows.InsertStream`."""

    tell: Callable[[], None]

    @property
    def most(self) -> int: ...
    @property
    def taken(self) -> int: ...
    @property
    def acked(self) -> int: ...
    @property
    def standing(self) -> int | None: ...
    @property
    def failure(self) -> KsqlError | None: ...
    @property
    def ended(self) -> bool: ...
    @property
    def has_room(self) -> bool: ...
    def write(self, lines: Sequence[bytes]) -> int: ...
    def refuse(self, problem: KsqlError) -> None: ...
    def close(self) -> None: ...


class PushQuery(Protocol):
    """What the server needs of a query that is answered, or of a PRINT, which is ``plain``: its rows are lines of text.

    ``behind``: by query how many records it has still to read, of queries whose results this one reads; None: all.
    ``subscribe``: has rows given to ``take`` that others get as well, and counts no LIMIT of them; False where its rows
    must be read. ``limit``: how many such rows are wanted, None for all. ``stream``: whether ksqlDB's first API says at
    its end how it ended; that of a pull query on a table does not. ``pieces``: its records, for who reads them instead
    of its rows. ``lingers``: whether rows may be sent together.
    """

    @property
    def id(self) -> str: ...
    @property
    def columns(self) -> Sequence[Column]: ...
    @property
    def plain(self) -> bool: ...
    @property
    def stream(self) -> bool: ...
    @property
    def behind(self) -> Mapping[str, int | None]: ...

    @property
    def lingers(self) -> bool: ...

    limit_reached: bool
    limit: int | None

    def rows(self) -> Iterator[Any]: ...
    def pieces(self) -> Pieces | None: ...
    def subscribe(
        self, take: Callable[[Batch], None], failed: Callable[[Exception], None], ended: Callable[[], None]
    ) -> bool: ...
    def close(self) -> None: ...


class Commands(Protocol):
    """What became of commands."""

    def all(self) -> dict[str, str]: ...
    def one(self, kind: str, entity: str, action: str, sees: Callable[[str], bool] = ...) -> dict[str, Any] | None: ...


class Engine(Protocol):
    """What the server needs of an engine; :class:`ksqlpy.runtime.Engine` is one, tests have another."""

    @property
    def config(self) -> Config: ...
    @property
    def commands(self) -> Commands: ...
    @property
    def editing(self) -> Editing: ...
    @property
    def python(self) -> Python: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def cancel(self) -> None: ...
    def execute(
        self, sql: str, properties: Mapping[str, object] = ..., variables: Mapping[str, str] = ...
    ) -> list[dict[str, Any]]: ...
    def look_up(
        self, sql: str, properties: Mapping[str, object] = ...
    ) -> tuple[Sequence[Column], Sequence[Sequence[Any]], Mapping[str, int | None]] | None: ...
    def query(
        self,
        sql: str,
        properties: Mapping[str, object] = ...,
        variables: Mapping[str, str] = ...,
        token: str | None = ...,
    ) -> PushQuery: ...
    def close_query(self, query_id: str) -> bool: ...
    def insert_rows(
        self, target: str, properties: Mapping[str, object] = ..., id: str | None = ..., begin: int | None = ...
    ) -> InsertStream: ...
    def acknowledge(self, query_id: str, rows: int, target: str | None = ..., lines: Sequence[bytes] = ...) -> None: ...
    def dead_letters(
        self, query: str | None = ..., topic: str | None = ..., letters: str | None = ..., limit: int | None = ...
    ) -> list[dict[str, Any]]: ...
    def count_letters(self, *which: str | None) -> dict[str, Any]: ...
    def replay_letters(
        self,
        query: str | None = ...,
        topic: str | None = ...,
        letters: str | None = ...,
        mended: Sequence[Mapping[str, Any]] | None = ...,
        again: bool = ...,
        dry: bool = ...,
    ) -> dict[str, int]: ...
    def wait_for(self, sequence: int) -> None: ...
    def host_status(self) -> dict[str, Any]: ...
    def terminate(self, topics: Sequence[str] = ...) -> list[str]: ...
    def info(self) -> dict[str, Any]: ...
    def health(self) -> dict[str, Any]: ...
    def metrics(self) -> EngineMetrics: ...
    def require(self, need: Need) -> None: ...
    def fatal(self) -> KsqlError | None: ...
    def cut_short(self) -> bool: ...


class State(Enum):
    """Where the server is in its life; the text is what a client is told while it cannot be served."""

    STARTING = "the server is starting"
    READY = "the server is ready"
    STOPPING = "the server is shutting down"


class Backend:
    """The engine, with the state of the server before it."""

    def __init__(self, engine: Engine, state: State = State.READY) -> None:
        self.engine = engine
        self.state = state
        self._workers = Workers(THREADS, "call")
        self._health = Workers(HEALTH_THREADS, "health")
        self.samples: Mapping[str, Callable[[], str]] = {}
        """Of ``ksqlpy dev``: what makes sample data, by name, for the principal who asks, and says what there is."""
        self._open: set[Stream] = set()
        self._waiting: set[threading.Event] = set()

    def problem(self) -> KsqlError | None:
        """Why no request can be served now: ksqlDB's 50302 (starting) or 50303 (shutting down), else None."""
        if self.state is State.STARTING:
            return EngineProblem("server-starting", State.STARTING.value, hint="try again soon", error_code=50302)
        if self.state is State.STOPPING:
            return EngineProblem("server-stopping", State.STOPPING.value, error_code=50303)
        return None

    def check(self) -> None:
        """Raises :meth:`problem` if there is one."""
        if (problem := self.problem()) is not None:
            raise problem

    async def ask(self, function: Callable[..., T], *args: object) -> T:
        """As :meth:`call`, of what is answered at once, and must be while all other threads wait."""
        return await self._health.run(function, *args)

    async def call_for(self, request: Request, function: Callable[..., T], *args: object) -> T:
        """As :meth:`call`; a call that waits for something ends when the client leaves or the server stops."""
        left = threading.Event()
        self._waiting.add(left)
        LEFT.set(left)
        watch = asyncio.create_task(_left(request, left))
        try:
            return await self.call(function, *args)
        finally:
            watch.cancel()
            self._waiting.discard(left)

    async def call(self, function: Callable[..., T], *args: object) -> T:
        """Runs a blocking call in a thread and gives its result; raises what it raises."""
        return await self._workers.run(function, *args)

    @contextlib.contextmanager
    def streaming(self, query: Stream) -> Iterator[None]:
        """Counts the query among those that :meth:`shut_down` ends."""
        self._open.add(query)
        try:
            yield
        finally:
            self._open.discard(query)

    async def shut_down(self) -> None:
        """Refuses new requests from now on and ends all push queries and streams of rows; their clients see the end."""
        self.state = State.STOPPING
        for left in self._waiting:
            left.set()
        await asyncio.gather(*(self.call(q.close) for q in tuple(self._open)), return_exceptions=True)


async def _left(request: Request, left: threading.Event) -> None:
    await disconnected(request.receive)
    left.set()


def backend_of(request: Request) -> Backend:
    """The backend of the app that serves the request."""
    backend: Backend = request.app.state.backend
    return backend


async def begin(request: Request, offered: Sequence[str]) -> tuple[Backend, str]:
    """What every request starts with: the backend, if it can serve now, and the media type of the answer.

    Raises KsqlError: 50302, 50303, ``not-acceptable``.
    """
    backend = backend_of(request)
    backend.check()
    return backend, negotiate(request, offered)
