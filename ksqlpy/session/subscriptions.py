"""Subscriptions: functions that are called for each row of a query, and go on behind the last acknowledged one."""

from __future__ import annotations

import inspect
import itertools
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

from ksqlpy.errors import ConfigProblem, EngineProblem, KsqlError, shown
from ksqlpy.session.inbox import Opened
from ksqlpy.session.misuse import forked
from ksqlpy.session.outgoing import is_row, lines
from ksqlpy.session.pauses import Pauses
from ksqlpy.session.rows import Row
from ksqlpy.session.values import row_maker

__all__ = ["Handled", "Handling", "OnError", "Source", "Subscription", "checked", "handled", "in_full", "stop_all"]

log = logging.getLogger("ksqlpy.session")

OnError = Literal["stop", "skip", "retry"]
"""What becomes of a subscription whose function fails."""

_SECONDS, _LINES = 0.2, 1_000
"""For how long rows are handled, and how many rows are written, before they are acknowledged, together."""

_SOON = 1e-3

_PATIENCE = 10.0
"""Seconds for which a session that is closed waits for the rows that are being handled."""

_AWAY = {"connection-lost", "server-unavailable", "server-slow", "server-stopping", "query-ended", "unknown-query"}
"""Errors of a query that is opened again."""

_OF_SINK = {"unknown-source", "source-gone", "internal-topic", "read-only", "windowed-source", "bad-acknowledgement"}
"""Errors that all rows would have."""

NAME = "ksqlpy.subscription"


class WaysOfRows(Protocol):
    """What a subscription needs of a transport."""

    closed: bool

    def run(self, sql: str, properties: Mapping[str, object], variables: Mapping[str, str]) -> list[dict[str, Any]]: ...
    def open(self, sql: str, properties: Mapping[str, object], variables: Mapping[str, str]) -> Opened: ...
    def acknowledge(self, query_id: str, rows: int, target: str | None, lines: Sequence[bytes]) -> None: ...


class Handled:
    """What became of rows: those that are written for each one that is done, and why the next one is not."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping
        self.done: list[list[bytes]] = []
        self.failure: Exception | None = None
        self._written = 0
        self._until = time.monotonic() + _SECONDS

    def add(self, results: object, *, write: bool) -> None:
        """A row is done, with what its function gave. Raises what that is wrong with."""
        made = list(_lines_of(results)) if write else []
        self.done.append(made)
        self._written += len(made)

    @property
    def due(self) -> bool:
        """Whether it is time to acknowledge, or to stop."""
        return self._stopping.is_set() or self._written >= _LINES or time.monotonic() > self._until


def _lines_of(results: object) -> Iterator[bytes]:
    if results is None:
        return iter(())
    return lines([results] if is_row(results) else results)


def in_full(results: object) -> object:
    """What a function gave; of a generator all that it gives."""
    return list(results) if inspect.isgenerator(results) else results


Handling = Callable[[Sequence[Row], bool, threading.Event], Handled]
"""Handles rows, or the first of them; with True what their function gives is kept as rows to write.

The event is set when no more are to be handled.
"""


def handled(function: Callable[[Row], object]) -> Handling:
    """How a function handles rows, unless it says so itself."""

    own: Handling | None = getattr(function, "handle", None)
    if own is not None:
        return own

    def handle(rows: Sequence[Row], write: bool, stopping: threading.Event) -> Handled:
        found = Handled(stopping)
        for row in rows:
            try:
                found.add(in_full(function(row)), write=write)
            except Exception as e:  # the user's
                found.failure = e
                break
            if found.due:
                break
        return found

    return handle


class Source:
    """The rows of a named subscription, from the first one on that is not acknowledged."""

    def __init__(
        self,
        transport: WaysOfRows,
        sql: str,
        name: str,
        properties: Mapping[str, object],
        variables: Mapping[str, str],
    ) -> None:
        self._transport = transport
        self._sql = sql
        self._name = name
        self._properties = dict(properties)
        self._variables = dict(variables)
        self._woken = threading.Event()
        self._open()

    def _open(self) -> None:
        self._opened = opened = _opened_as(self._transport, self._name, self._sql, self._properties, self._variables)
        self._made = row_maker(opened.columns)
        self._acknowledged = 0
        self.listen(self._woken)

    def listen(self, woken: threading.Event) -> None:
        """Has it set when rows may have come."""
        self._woken = woken
        self._opened.tell = woken.set
        woken.set()

    def take(self) -> list[Row] | None:
        """The rows that have come, none where none have; None where no more come. Raises KsqlError."""
        self._woken.clear()
        taken = self._opened.take(0.0)
        return None if taken is None else [self._made(values) for values in taken]

    def acknowledge(self, rows: int, target: str | None, written: Sequence[bytes]) -> None:
        """So many more rows are done, and these are written. Raises KsqlError: then nothing of it is done."""
        self._transport.acknowledge(self._opened.query_id, self._acknowledged + rows, target, written)
        self._acknowledged += rows

    def again(self, stopping: threading.Event, pauses: Pauses) -> bool:
        """Opens the query again, as soon as that can be; False where it is not to go on. Raises KsqlError."""
        self.close()
        while pauses.wait(stopping) and not self._transport.closed:
            try:
                self._open()
                return True
            except KsqlError as e:
                if not _is_away(e):
                    raise
        return False

    def close(self) -> None:
        """Ends the query."""
        self._opened.close()


def _opened_as(
    transport: WaysOfRows,
    name: str,
    sql: str,
    properties: Mapping[str, object],
    variables: Mapping[str, str],
) -> Opened:
    """A query under the name of a subscription.

    One that cannot be answered without Spark becomes a persistent query, whose result is read. Raises KsqlError.
    """
    named = {**properties, NAME: name}
    try:
        return transport.open(sql, named, variables)
    except KsqlError as e:
        if e.code != "subscription-needs-query":
            raise
    result = f"`SUBSCRIPTION_{name}`"
    _declare(transport, result, sql.rstrip().rstrip(";").rstrip(), properties, variables)
    # All of the result is wanted: where the query begins is where the subscription does.
    return transport.open(
        f"SELECT * FROM {result} EMIT CHANGES;", {**named, "auto.offset.reset": "earliest"}, variables
    )


def _declare(
    transport: WaysOfRows, result: str, select: str, properties: Mapping[str, object], variables: Mapping[str, str]
) -> None:
    """Makes the persistent query of a subscription; one that has another SELECT is replaced. Raises KsqlError."""

    def create(how: str, kind: str) -> None:
        transport.run(how.format(kind=kind) + f" {result} AS {select}\n;", properties, variables)

    try:
        [found] = transport.run(f"DESCRIBE {result};", properties, {})
    except KsqlError as e:
        if e.code != "unknown-source":
            raise
        how = "CREATE {kind} IF NOT EXISTS"
        try:
            create(how, "STREAM")
        except KsqlError as wrong:
            if wrong.code != "wrong-kind":
                raise
            create(how, "TABLE")
        return
    there = found["sourceDescription"]
    if not _plainly(str(there.get("statement"))).endswith(_plainly(f"{result} AS {select}")):
        create("CREATE OR REPLACE {kind}", str(there["type"]))


def _plainly(sql: str) -> str:
    """A statement without what says nothing."""
    return " ".join(sql.rstrip(" \n;").split())


def _is_away(error: KsqlError) -> bool:
    return error.code in _AWAY or (error.error_code >= 50000 and error.code != "subscription-needs-query")


def _is_of_row(error: KsqlError) -> bool:
    """Whether one of the rows that were to be written is wrong, and another one may be taken."""
    return error.error_code // 100 in (400, 413) and error.code not in _AWAY | _OF_SINK


class Subscription:
    """A function that is called for each row of a query, in their order, one after the other, by a thread of its own.

    A row is acknowledged when the function has returned; after a restart the subscription of the same name goes on
    behind the last acknowledged row. So the function is called at least once for each row. What it returns, or yields,
    is written into ``to`` in the transaction that acknowledges the row: exactly once.
    """

    def __init__(
        self,
        source: Source,
        function: Callable[[Row], object],
        handle: Handling,
        name: str,
        to: str | None,
        on_error: OnError,
    ) -> None:
        self.name = name
        self.to = to
        self._source = source
        self._function = function
        self._handle = handle
        self._on_error = on_error
        self._acknowledged = self._skipped = 0
        self._failure: BaseException | None = None
        self._pid = os.getpid()
        self._stopping = threading.Event()
        self._woken = threading.Event()
        self._pauses = Pauses()
        self._changed = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name=f"subscription {name}", daemon=True)
        self._thread.start()

    def __call__(self, row: Any) -> Any:
        """Calls the function itself, as tests of it do."""
        return self._function(row)

    @property
    def acknowledged(self) -> int:
        """Rows that this program has acknowledged."""
        return self._acknowledged

    @property
    def skipped(self) -> int:
        """How many of them the function failed on."""
        return self._skipped

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return not self._ended

    def wait(self, timeout: float | None = None, *, rows: int | None = None) -> bool:
        """Waits until it has ended, or this program has acknowledged so many rows; False where it has not in time.

        ``timeout``: seconds, None for ever. Raises what it failed with: an exception of the function, or KsqlError.
        """
        if self._pid != os.getpid():
            raise forked(self._pid)
        with self._changed:
            done = self._changed.wait_for(
                lambda: self._ended or (rows is not None and self._acknowledged >= rows), timeout
            )
        if self._failure is not None and (rows is None or self._acknowledged < rows):
            raise self._failure
        return done

    def stop(self, timeout: float | None = None) -> None:
        """Ends it: the row that is being handled is acknowledged when the function has returned, the next ones are not.

        ``timeout``: for how many seconds that is waited for; with 0 its query is ended at once, and the row is not
        acknowledged. Stopping twice does nothing.
        """
        if self._pid != os.getpid():
            return  # it is its parent's
        self._stopping.set()
        self._woken.set()
        if timeout == 0:
            self._source.close()
        elif threading.current_thread() is not self._thread:
            with self._changed:
                self._changed.wait_for(lambda: self._ended, timeout)

    def _run(self) -> None:
        try:
            self._source.listen(self._woken)
            while not self._stopping.is_set() and self._work():
                pass
        except BaseException as e:  # carried to who waits
            self._failure = e
            if not self._stopping.is_set():
                log.error("subscription %s has ended: %s", self.name, e, exc_info=not isinstance(e, KsqlError))
        finally:
            self._source.close()
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _work(self) -> bool:
        """Handles rows until it is to stop; whether it goes on, after the server was away."""
        try:
            self._handle_all()
        except KsqlError as e:
            if not _is_away(e) or self._failure is e:
                raise
            log.warning("subscription %s is opened again: %s", self.name, e.message)
            return self._source.again(self._stopping, self._pauses)
        return False

    def _handle_all(self) -> None:
        while not self._stopping.is_set():
            rows = self._source.take()
            if rows is None:
                raise EngineProblem("query-ended", "its query was ended")
            if not rows:
                self._woken.wait()
            while rows and not self._stopping.is_set():
                found = self._handle(rows, self.to is not None, self._stopping)
                done = self._acknowledge(found.done)
                del rows[:done]
                if found.failure is not None and done == len(found.done) and self._passed_over(rows[0], found.failure):
                    del rows[0]

    def _acknowledge(self, done: Sequence[list[bytes]]) -> int:
        """Acknowledges rows, each with what is written for it; gives how many, the first ones. Raises KsqlError."""
        if not done:
            return 0
        try:
            self._source.acknowledge(len(done), self.to, list(itertools.chain.from_iterable(done)))
        except KsqlError as e:
            if not any(done) or not _is_of_row(e):
                raise
            if len(done) == 1:
                return int(self._passed_over(None, e))
        else:
            self._count(len(done))
            return len(done)
        for number, one in enumerate(done):
            if not self._acknowledge([one]):
                return number
        return len(done)

    def _passed_over(self, row: Row | None, error: Exception) -> bool:
        """The function has failed on a row, or what it gave is refused: whether the row is skipped, or comes again.

        Raises the error where that ends the subscription.
        """
        if self._on_error == "stop":
            self._failure = error
            raise error
        shown_row = "a row" if row is None else f"row {shown(row)}"
        if self._on_error == "retry":
            log.warning("subscription %s tries %s again: %s", self.name, shown_row, error, exc_info=error)
            self._pauses.wait(self._stopping)
            return False
        log.error("subscription %s skips %s", self.name, shown_row, exc_info=error)
        self._source.acknowledge(1, None, ())
        self._skipped += 1
        self._count(1)
        return True

    def _count(self, rows: int) -> None:
        self._pauses.reset()
        with self._changed:
            self._acknowledged += rows
            self._changed.notify_all()

    def __repr__(self) -> str:
        state = "running" if self.running else "failed" if self._failure is not None else "stopped"
        return f"<ksqlpy.Subscription {self.name} ({state})>"


def checked(name: str, on_error: str) -> OnError:
    """What is done on errors. Raises ConfigProblem for what is no name, or no way."""
    if not name or not name.isascii() or not all(c.isalnum() or c in "_-" for c in name) or len(name) > 100:
        hint = "it has 1 to 100 letters (a to z), digits, '_' and '-'"
        raise ConfigProblem("bad-subscription", f"{shown(name)} is no name of a subscription", hint=hint)
    match on_error:
        case "stop" | "skip" | "retry":
            return on_error
    raise ConfigProblem("bad-subscription", f"on_error is 'stop', 'skip' or 'retry', not {shown(on_error)}")


def stop_all(subscriptions: Iterable[Subscription]) -> None:
    """Stops them, before their session is closed."""
    found = list(subscriptions)
    for subscription in found:
        subscription.stop(_SOON)
    until = time.monotonic() + _PATIENCE
    for subscription in found:
        subscription.stop(max(_SOON, until - time.monotonic()))
