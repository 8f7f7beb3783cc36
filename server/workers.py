"""Threads for calls that may block, which the event loop does not wait for.

``Thread.start`` returns when the new thread runs, and so do the thread pools of the standard library and of anyio when
they grow. On a machine with more threads than processors that takes some tenths of a second, in which the event loop
would answer nobody. Here a thread of its own starts the others.

Where many calls come at once, most of them are short. A thread for each would make the event loop compete with all of
them for the interpreter, so only a few are started at once, and more while no call ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["Workers", "start"]

T = TypeVar("T")

REST = 60.0
"""Seconds after which a thread without a call ends."""

AT_ONCE = 4
"""Threads that are started as soon as calls come."""
STALL = 0.05
"""Seconds without the end of a call after which further threads are started for those that wait."""

_wanted: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
_starting = threading.Lock()
_starter: threading.Thread | None = None


def start(wanted: Callable[[], None]) -> None:
    """Lets ``wanted``, which starts a thread, run soon, and does not wait for it."""
    global _starter
    _wanted.put(wanted)
    with _starting:
        if _starter is None:
            _starter = threading.Thread(target=_start_all, name="starter", daemon=True)
            _starter.start()


def _start_all() -> None:
    while True:
        _wanted.get()()


_Call = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]", Callable[[], Any]]


class Workers:
    """Up to ``most`` threads; calls beyond them wait in the order in which they came."""

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._calls: queue.SimpleQueue[_Call] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._free = 0  # threads that wait for a call, less the calls that wait for a thread
        self._ended = 0
        self._growing = False

    async def run(self, function: Callable[..., T], *args: object) -> T:
        """The result of a call in a thread, with the caller's context variables; raises what it raises.

        A call whose task is cancelled runs to its end, and its result is dropped.
        """
        loop = asyncio.get_running_loop()
        result: asyncio.Future[T] = loop.create_future()
        context = contextvars.copy_context()
        with self._lock:
            self._free -= 1
            short = self._free < 0 and self._threads < self._most
            more = short and self._threads < AT_ONCE
            if more:
                self._threads += 1
                self._free += 1
            grow = short and not more and not self._growing
            self._growing |= grow
        self._calls.put((loop, result, lambda: context.run(function, *args)))
        if more:
            start(self._start)
        if grow:
            start(self._start_growing)
        return await result

    def _start_growing(self) -> None:
        try:
            threading.Thread(target=self._grow, name=f"{self._name} grows", daemon=True).start()
        except RuntimeError:  # the system gives no more
            self._growing = False

    def _grow(self) -> None:
        """Starts threads while calls wait and none ends, twice as many each time."""
        ended, more = self._ended, 1
        while True:
            time.sleep(STALL)
            with self._lock:
                if self._free >= 0 or self._threads >= self._most:
                    self._growing = False
                    return
                stalls, ended = ended == self._ended, self._ended
                count = min(more, -self._free, self._most - self._threads) if stalls else 0
                self._threads += count
                self._free += count
            more = 2 * more if stalls else 1
            for _ in range(count):
                self._start()

    def _start(self) -> None:
        try:
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        except RuntimeError as e:  # the system gives no more; the call waits for one of those that run
            with self._lock:
                self._threads -= 1
                self._free -= 1
                none = not self._threads
            with contextlib.suppress(queue.Empty):
                while none:
                    self._end(*self._calls.get_nowait()[:2], None, e)

    def _work(self) -> None:
        while True:
            try:
                loop, result, call = self._calls.get(timeout=REST)
            except queue.Empty:
                with self._lock:
                    if self._free <= 0:  # a call is on its way
                        continue
                    self._free -= 1
                    self._threads -= 1
                    return
            try:
                value, error = call(), None
            except BaseException as e:
                value, error = None, e
            self._end(loop, result, value, error)
            del loop, result, call, value, error

    def _end(
        self,
        loop: asyncio.AbstractEventLoop,
        result: asyncio.Future[Any],
        value: object,
        error: BaseException | None,
    ) -> None:
        with self._lock:
            self._free += 1
            self._ended += 1
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(_done, result, value, error)


def _done(result: asyncio.Future[Any], value: object, error: BaseException | None) -> None:
    if result.cancelled():
        return
    if error is None:
        result.set_result(value)
    else:
        result.set_exception(RuntimeError(error) if isinstance(error, StopIteration) else error)
