"""An engine in this process, with Spark's JVM and, unless brokers are named, a Kafka broker as its children."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import os
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ksqlpy.asker import LEFT
from ksqlpy.errors import EnvironmentProblem, StatementError
from ksqlpy.session.inbox import Given, Inbox, Opened
from ksqlpy.session.misuse import forked, row_refused
from ksqlpy.session.rows import Column
from ksqlpy.session.session import Session

if TYPE_CHECKING:
    from ksqlpy.catalog import Column as CatalogColumn
    from ksqlpy.runtime import Engine as SparkEngine
    from ksqlpy.runtime.insertrows import InsertStream

__all__ = ["Engine"]

T = TypeVar("T")

_TOKENS = {"ksql.query.push.v2.continuation.tokens.enabled": "true"}
"""A push query that gives tokens reads its topic itself, and so waits for who takes its rows."""

_SHAPES = 500
"""Lookups whose columns are remembered."""

_AGAIN = 0.02
"""Seconds after which rows are tried again for which there was no room."""

_open_by: list[int] = []
"""The process that has an engine: PySpark has one JVM in a process, and so has ksqlpy."""
_opening = threading.Lock()


class Engine(Session):
    """A session with an engine of its own in this process, which it starts and ends. One at a time in a process."""

    def __init__(
        self,
        bootstrap_servers: str | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        config: Mapping[str, object] | None = None,
        *,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        """Starts it: seconds, most of them of Java.

        ``bootstrap_servers``: Kafka brokers; without them it has a broker of its own. ``data_dir``: a folder for what
        it keeps; without one all of it is gone at the end. ``config``: properties of the server. ``progress`` gets
        short texts about the start, and an empty one at its end.
        Raises ConfigProblem for properties, EnvironmentProblem for what the machine lacks, and ``engine-open`` where
        this process has an engine already.
        """
        # What a program registers runs for the user who runs the program.
        given = {"ksqlpy.functions.python.enabled": "true", **(config or {})}
        if bootstrap_servers is not None:
            given["bootstrap.servers"] = bootstrap_servers
        if data_dir is not None:
            given["ksqlpy.data.dir"] = os.fspath(data_dir)
            _private(Path(data_dir))
        with _taken():
            self._engine = engine = _started(given, progress or (lambda text: None))
            try:
                super().__init__(_Embedded(engine), "an embedded engine")
            except BaseException:  # an interruption: nobody else would end it
                _to_its_end(engine.stop)
                raise

    @property
    def bootstrap_servers(self) -> str:
        """Addresses of the brokers, for Kafka's clients beside it."""
        self._there()
        return self._engine.bootstrap


def _started(given: Mapping[str, object], progress: Callable[[str], None]) -> SparkEngine:
    from ksqlpy.config import Config
    from ksqlpy.embedded.process import start_whole
    from ksqlpy.runtime import Engine as SparkEngine

    engine = SparkEngine(Config.of(given), progress)
    start_whole(engine.start, engine.stop, progress)
    return engine


@contextlib.contextmanager
def _taken() -> Generator[None, None, None]:
    """Is the one engine of this process, from the start of its block until :func:`_free`, or until the block fails."""
    with _opening:
        if _open_by and _open_by[0] != os.getpid():
            raise forked(_open_by[0])
        if _open_by:
            hint = "close the other one first, give it to both, or start a server and use ksqlpy.connect"
            said = "this process has an embedded engine already, and PySpark has one JVM in a process"
            raise EnvironmentProblem("engine-open", said, hint=hint)
        _open_by.append(os.getpid())
    try:
        yield
    except BaseException:
        _free()
        raise


def _free() -> None:
    with _opening:
        _open_by.clear()


def _private(folder: Path) -> None:
    """Makes a folder of data that is not there yet for nobody else."""
    with contextlib.suppress(OSError):  # what is wrong with it is said at the start
        folder.expanduser().parent.mkdir(parents=True, exist_ok=True)
        folder.expanduser().mkdir(mode=0o700, exist_ok=True)


class _Embedded:
    """The way to an engine of this process: calls of its methods."""

    def __init__(self, engine: SparkEngine) -> None:
        self._engine = engine
        self.closed = False
        self._known: dict[int, tuple[Sequence[CatalogColumn], tuple[Column, ...]]] = {}

    def run(self, sql: str, properties: Mapping[str, object], variables: Mapping[str, str]) -> list[dict[str, Any]]:
        """See :class:`ksqlpy.session.session.Transport`."""
        return _whole(partial(self._engine.execute, sql, properties, variables))

    def open(self, sql: str, properties: Mapping[str, object], variables: Mapping[str, str]) -> Opened:
        """The same; a lookup in a table is answered at once, by this thread."""
        if "${" not in sql:
            found = self._engine.look_up(sql, properties)
            if found is not None:
                return Given("", self._columns_of(found[0]), found[1])
        query = _whole(
            partial(self._engine.query, sql, {**_TOKENS, **properties}, variables), undo=lambda query: query.close()
        )
        if query.plain:
            query.close()
            hint = "a consumer of Kafka reads topics as they are"
            raise StatementError("not-a-query", "PRINT gives no rows", sql=sql, hint=hint)
        pieces = query.pieces()
        if pieces is not None:
            return Inbox(query.id, _columns(query.columns), pieces.items, query.close, pieces.limit)
        return Inbox(query.id, _columns(query.columns), _rows(query), query.close)

    def _columns_of(self, columns: Sequence[CatalogColumn]) -> tuple[Column, ...]:
        """The columns of a lookup, which come again and again as the same object."""
        known = self._known.get(id(columns))
        if known is None or known[0] is not columns:
            if len(self._known) > _SHAPES:
                self._known = {}
            known = self._known[id(columns)] = (columns, _columns(columns))
        return known[1]

    def insert(self, target: str, lines: Iterable[bytes]) -> int:
        """The same."""
        stream = _whole(partial(self._engine.insert_rows, target))
        heard = threading.Event()
        stream.tell = heard.set
        try:
            for batch in _batches(lines, stream.most):
                _written(stream, batch, heard)
            while stream.failure is None and stream.acked < stream.taken:
                heard.wait(_AGAIN)
                heard.clear()
            _check(stream)
            return stream.acked
        finally:
            _whole(stream.close)

    def acknowledge(self, query_id: str, rows: int, target: str | None, lines: Sequence[bytes]) -> None:
        """The same."""
        _whole(partial(self._engine.acknowledge, query_id, rows, target, lines))

    def close(self) -> None:
        """The same; takes seconds, as Spark ends in order. An interruption is raised when it is over."""
        _to_its_end(self._end)

    def _end(self) -> None:
        try:
            self._engine.stop()
        finally:
            self.closed = True
            _free()


def _columns(columns: Iterable[CatalogColumn]) -> tuple[Column, ...]:
    return tuple(Column(c.name, c.type) for c in columns)


def _rows(query: Any) -> Generator[Any, None, None]:
    """The rows of a query, without what is none: rows that are gone, and places in the topic."""
    for row in query.rows():
        if row is None or type(row) is list:
            yield row


def _batches(lines: Iterable[bytes], size: int) -> Generator[list[bytes], None, None]:
    left = iter(lines)
    while batch := list(itertools.islice(left, size)):
        yield batch


def _written(stream: InsertStream, batch: list[bytes], heard: threading.Event) -> None:
    """Has rows taken, waiting for room; raises KsqlError for one that is refused."""
    while batch:
        _check(stream)
        taken = _whole(partial(stream.write, batch)) if stream.has_room and not stream.ended else 0
        del batch[:taken]
        if not taken:
            heard.wait(_AGAIN)
            heard.clear()


def _check(stream: InsertStream) -> None:
    failure = stream.failure
    if failure is not None:
        raise row_refused(stream.acked, failure)


def _whole(work: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:
    """What ``work`` gives, or raises what it raises; an interruption does not hit it in the middle.

    A call into Spark's JVM that is interrupted leaves its connection with half an answer. So in the thread that Python
    interrupts, the work is given to another one; who waits in it for something is told that nobody wants it any more.
    ``undo``: is given what comes all the same.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    done: Future[T] = Future()
    left = threading.Event()
    context = contextvars.copy_context()
    context.run(LEFT.set, left)

    def body() -> None:
        try:
            done.set_result(context.run(work))
        except BaseException as e:  # carried to the caller
            done.set_exception(e)

    try:
        threading.Thread(target=body, name="session call", daemon=True).start()
        return done.result()
    except BaseException:
        left.set()
        if undo is not None and not (done.done() and done.exception() is not None):
            done.add_done_callback(lambda d: undo(d.result()) if d.exception() is None else None)
        raise


def _to_its_end(work: Callable[[], object]) -> None:
    """Does the work, also where it is interrupted meanwhile; raises what it raises, then the interruption."""
    failures: list[BaseException] = []
    begun, ended = threading.Lock(), threading.Event()

    def body() -> None:
        if not begun.acquire(blocking=False):
            return
        try:
            work()
        except BaseException as e:  # carried to the caller
            failures.append(e)
        finally:
            ended.set()

    try:
        threading.Thread(target=body, name="session end").start()
        ended.wait()
    except BaseException:
        body()  # where not even its thread has started
        ended.wait()
        raise
    if failures:
        raise failures[0]
