"""Rows on their way from the thread that makes them to who reads a result."""

from __future__ import annotations

import threading
from collections.abc import Generator
from typing import Any

import pytest

from ksqlpy.atwork import working
from ksqlpy.session.inbox import AHEAD, Inbox
from tests.support.waiting import until


class Source:
    """Rows of numbers that a thread makes in its turn; it has an end of its own, or goes on until it is closed."""

    def __init__(self, count: int | None = None, failure: Exception | None = None) -> None:
        self.made = 0
        self.over = threading.Event()
        self._count, self._failure = count, failure
        self.inbox = Inbox("q", (), self._rows(), self.over.set)

    def _rows(self) -> Generator[Any, None, None]:
        with working():
            while not self.over.is_set() and self.made != self._count:
                self.made += 1
                yield [self.made]
            if self._failure is not None:
                raise self._failure


def test_who_does_not_take_rows_keeps_nobody_from_making_theirs() -> None:
    source = Source()
    assert until(lambda: source.made >= AHEAD)
    entered = threading.Event()

    def work() -> None:
        with working():
            entered.set()

    threading.Thread(target=work).start()
    assert entered.wait(10)
    assert source.made == AHEAD
    taken = source.inbox.take(None)
    assert taken is not None and [row for [row] in taken] == list(range(1, AHEAD + 1))
    assert until(lambda: source.made > AHEAD)
    source.inbox.close()
    assert until(lambda: "rows of q" not in [t.name for t in threading.enumerate()])
    while (left := source.inbox.take(0)) is not None:
        assert left


def test_all_rows_come_ahead_of_the_end_and_of_a_failure() -> None:
    found: list[Any] = []
    ended = Source(25_000).inbox
    while (taken := ended.take(None)) is not None:
        found += taken
    assert [row for [row] in found] == list(range(1, 25_001))
    assert ended.take(None) is None

    failing, found = Source(3, ValueError("why")).inbox, []
    with pytest.raises(ValueError, match="why"):
        while (taken := failing.take(None)) is not None:
            found += taken
    assert len(found) == 3 and failing.take(None) is None


def test_who_waits_hears_of_rows_and_of_the_end() -> None:
    go, told = threading.Event(), threading.Semaphore(0)

    def rows() -> Generator[Any, None, None]:
        go.wait(10)
        yield [1]

    inbox = Inbox("q", (), rows(), go.set)
    inbox.tell = told.release
    assert inbox.take(0) == ()
    go.set()
    assert told.acquire(timeout=10)
    assert until(lambda: inbox.take(0) is None) is True
