"""Subscriptions: functions that are called for each row of a query, and go on behind the last acknowledged one."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

from ksqlpy.errors import ConfigProblem, EngineProblem, KsqlError, shown
from ksqlpy.session.misuse import forked
from ksqlpy.session.outgoing import is_row, lines
from ksqlpy.session.pauses import Pauses
from ksqlpy.session.rows import Row
from ksqlpy.session.subscribed import Source, is_away

__all__ = ["Handled", "Handling", "OnError", "Subscription", "checked", "handled", "in_full", "stop_all"]

log = logging.getLogger("ksqlpy.session")

OnError = Literal["stop", "skip", "retry"]
"""What becomes of a subscription whose function fails."""

_SECONDS, _LINES = 0.2, 1_000
"""For how long rows are handled, and how many rows are written, before they are acknowledged, together."""

_SOON = 1e-3

_PATIENCE = 10.0
"""Seconds for which a session that is closed waits for the rows that are being handled."""

_OF_SINK = {"unknown-source", "source-gone", "internal-topic", "read-only", "windowed-source", "bad-acknowledgement"}
"""Errors that all rows would have."""


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


def _is_of_row(error: KsqlError) -> bool:
    """Whether one of the rows that were to be written is wrong, and another one may be taken."""
    return error.error_code // 100 in (400, 413) and not is_away(error) and error.code not in _OF_SINK


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
        self._listeners: list[Callable[[], None]] = []
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
        with self._changed:
            done = self._changed.wait_for(lambda: self.done(rows), timeout)
        self.check(rows)
        return done

    def done(self, rows: int | None) -> bool:
        """Whether it has ended, or this program has acknowledged so many rows. Raises KsqlError ``session-forked``."""
        if self._pid != os.getpid():
            raise forked(self._pid)
        return self._ended or (rows is not None and self._acknowledged >= rows)

    def check(self, rows: int | None) -> None:
        """Raises what it failed with, before so many rows."""
        if self._failure is not None and (rows is None or self._acknowledged < rows):
            raise self._failure

    @contextlib.contextmanager
    def listened(self, told: Callable[[], None]) -> Iterator[None]:
        """Has ``told`` called, by any thread, when what :meth:`done` says may have changed."""
        with self._changed:
            self._listeners.append(told)
        try:
            yield
        finally:
            with self._changed:
                self._listeners.remove(told)

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
                self._tell()

    def _work(self) -> bool:
        """Handles rows until it is to stop; whether it goes on, after the server was away."""
        try:
            self._handle_all()
        except KsqlError as e:
            if not is_away(e) or self._failure is e:
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
            self._tell()

    def _tell(self) -> None:
        self._changed.notify_all()
        for told in self._listeners:
            told()

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
