"""Statements that wait: how many, how long, and for whom."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from ksqlpy.analysis import Text
from ksqlpy.asker import LEFT
from ksqlpy.errors import AnalysisProblem, EngineProblem
from ksqlpy.runtime.patience import MOST, check_timeout, wait_until
from ksqlpy.sql import parse

HOUR = 3_600_000


@contextmanager
def waiting() -> Iterator[threading.Event]:
    """A statement that waits for an hour, until its client leaves."""
    left, begun = threading.Event(), threading.Event()

    def problem() -> str:
        begun.set()
        return "not there"

    def wait() -> None:
        LEFT.set(left)
        with pytest.raises(EngineProblem) as caught:
            wait_until(problem, HOUR, 60)
        assert caught.value.code == "client-left"

    thread = threading.Thread(target=wait)
    thread.start()
    begun.wait(30)
    try:
        yield left
    finally:
        left.set()
        thread.join(30)
        assert not thread.is_alive()


def test_it_ends_when_what_is_wanted_is_there_or_the_time_is_over() -> None:
    found = iter(["not there", "not there", None])
    assert wait_until(lambda: next(found), HOUR, 0.001) is None
    assert wait_until(lambda: "not there", 1, 0.001) == "not there"


def test_it_ends_when_the_client_leaves() -> None:
    with waiting() as left:
        left.set()


def test_no_more_than_so_many_wait() -> None:
    with ExitStack() as stack:
        for _ in range(MOST):
            stack.enter_context(waiting())
        refused = threading.Event()
        while not refused.is_set():  # the last of them may not wait yet
            try:
                wait_until(lambda: "not there", 1, 0.001)
            except EngineProblem as e:
                assert (e.code, e.error_code) == ("too-many-wait", 42900)
                refused.set()
        assert wait_until(lambda: None, HOUR, 60) is None  # which needs not wait
    assert wait_until(lambda: "not there", 1, 0.001) == "not there"


@pytest.mark.parametrize(("timeout", "refused"), [("1 HOUR", False), ("61 MINUTES", True), ("36500 DAYS", True)])
def test_a_timeout_is_at_most_an_hour(timeout: str, refused: bool) -> None:
    sql = f"ASSERT TOPIC trips TIMEOUT {timeout};"
    node = parse(sql)[0].node.args["timeout"]
    if not refused:
        check_timeout(node, Text(sql))
        return
    with pytest.raises(AnalysisProblem) as caught:
        check_timeout(node, Text(sql))
    assert caught.value.code == "bad-timeout"
    assert caught.value.span is not None
