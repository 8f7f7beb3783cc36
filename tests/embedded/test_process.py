"""A start that is interrupted ends what it has started, wherever the interruption hits it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from ksqlpy.embedded.process import start_whole


def interrupted(monkeypatch: pytest.MonkeyPatch, *, begins: bool) -> Callable[[], None]:
    """Has the start of a thread interrupted; ``begins``: when the thread is there already."""
    usual = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if begins:
            usual(thread)
        raise KeyboardInterrupt

    return lambda: monkeypatch.setattr(threading.Thread, "start", start)


@pytest.mark.parametrize("begins", [True, False])
def test_an_interruption_at_the_begin(monkeypatch: pytest.MonkeyPatch, begins: bool) -> None:
    done: list[str] = []
    go = threading.Event()

    def start() -> None:
        go.wait(10)
        done.append("started")

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupted(patch, begins=begins)()
        start_whole(start, lambda: done.append("stopped"), lambda text: go.set())
    assert done == (["started", "stopped"] if begins else [])


def test_a_start_that_fails() -> None:
    def fail() -> None:
        raise ValueError("why")

    with pytest.raises(ValueError, match="why"):
        start_whole(fail, lambda: pytest.fail("it is not stopped"), lambda text: None)
