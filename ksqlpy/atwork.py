"""Threads that make rows in Python for clients take turns, one at a time.

Python runs one thread at a time anyhow. Where many want to, the event loop waits for each of them whenever it comes
back from a call of the system, several times a request, and each of them for a processor that Spark may have. So the
event loop competes with one of them only. A thread gives its turn away while it waits, and after :data:`SLICE`.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["SLICE", "step", "waiting", "working"]

SLICE = 0.005
"""Seconds after which a thread gives its turn to the next one."""

_guard = threading.Lock()
_queue: deque[threading.Lock] = deque()
_taken = False


class _Mine(threading.local):
    since: float | None = None


_mine = _Mine()


def _take() -> None:
    global _taken
    with _guard:
        own = None
        if _taken:
            own = threading.Lock()
            own.acquire()
            _queue.append(own)
        _taken = True
    if own is not None:
        own.acquire()  # released by whoever gives the turn to this thread
    _mine.since = time.monotonic()


def _give() -> None:
    global _taken
    _mine.since = None
    with _guard:
        if _queue:
            _queue.popleft().release()
        else:
            _taken = False


@contextmanager
def working() -> Iterator[None]:
    """Has the turn of the thread; within another one of the same thread it is that one."""
    if _mine.since is not None:
        yield
        return
    _take()
    try:
        yield
    finally:
        _give()


@contextmanager
def waiting() -> Iterator[None]:
    """Gives the turn of the thread away, if it has one, while it waits for something else."""
    if _mine.since is None:
        yield
        return
    _give()
    try:
        yield
    finally:
        _take()


def step() -> None:
    """Lets the next thread work if this one has worked for its time: to be called between two rows."""
    if _queue and (since := _mine.since) is not None and time.monotonic() - since > SLICE:
        _give()
        _take()
