"""A process that starts others and must end in order, whatever comes in between."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import TypeVar

__all__ = ["aside", "ended_in_order", "start_whole"]

T = TypeVar("T")


def start_whole(start: Callable[[], object], stop: Callable[[], object], progress: Callable[[str], None]) -> None:
    """Calls ``start``, in a thread: a JVM that loses its parent while it starts would stay for ever.

    So an interruption ends the work when the start is over: ``stop`` is called, and the interruption goes on. Raises
    what the start raises.
    """
    failures: list[Exception] = []
    ended = threading.Event()  # a join that was interrupted takes the thread for ended (CPython 3.11, bpo-45274)
    begun = threading.Lock()

    def body() -> None:
        if not begun.acquire(blocking=False):
            return
        try:
            start()
        except Exception as e:  # carried to the main thread
            failures.append(e)
        finally:
            ended.set()

    try:
        threading.Thread(target=body, name="start").start()  # waits for its begin, and may be interrupted there
        ended.wait()
    except BaseException:
        if begun.acquire(blocking=False):  # the thread has not begun, and does nothing any more
            raise
        progress("stopping: what is about to start has to finish that first")
        ended.wait()
        if not failures:
            stop()
        raise
    if failures:
        raise failures[0]


def aside(work: Callable[[], T]) -> T:
    """Gives what ``work`` gives, or raises what it raises; in a thread, which an interruption does not wait for.

    For calls into a JVM: one that is interrupted itself leaves its connection with half an answer. Whoever is
    interrupted ends the JVM, and with it the calls.
    """
    done: Future[T] = Future()

    def body() -> None:
        try:
            done.set_result(work())
        except BaseException as e:  # carried to the caller
            done.set_exception(e)

    threading.Thread(target=body, name="work", daemon=True).start()
    return done.result()


@contextlib.contextmanager
def ended_in_order() -> Iterator[None]:
    """Lets SIGTERM, and SIGHUP of a terminal that is closed, end the work like an error: all is stopped and removed.

    The exit code is 128 and the signal's number.
    """

    def end(number: int, frame: object) -> None:
        sys.exit(128 + number)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    ignored = [number for number, handler in before.items() if handler == signal.SIG_IGN]  # as nohup wants it
    try:
        for number in before.keys() - ignored:
            signal.signal(number, end)
    except ValueError:  # not the main thread: whoever runs it there sees to its end
        yield
        return
    try:
        yield
    finally:
        for number in before.keys() - ignored:
            signal.signal(number, before[number])
