"""The bar of records read: on a terminal only, and gone at the end."""

from __future__ import annotations

import io
import re
import threading
import time

import pytest

from ksqlpy.commands import readingbar
from ksqlpy.commands.readingbar import ReadingBar
from tests.support.waiting import until


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readingbar, "_LOOK", 0.01)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("NO_COLOR", raising=False)


def shown(terminal: Terminal) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())


def test_it_shows_the_largest_number_until_now_and_no_more_than_there_are() -> None:
    terminal, numbers = Terminal(), iter([1, 1234, 3, 9999])
    with ReadingBar(5000, lambda: next(numbers), terminal):
        assert until(lambda: "5,000 of 5,000 records" in shown(terminal), every=0.01)
    assert "3 of 5,000" not in shown(terminal).replace("1,23", "")
    assert terminal.getvalue().rstrip().endswith("\x1b[2K")  # the line is empty again


def test_an_error_ends_it_and_nothing_else() -> None:
    def gone() -> int:
        raise ConnectionError

    terminal = Terminal()
    with ReadingBar(10, gone, terminal) as bar:
        assert until(lambda: not bar._thread.is_alive(), every=0.01)  # type: ignore[union-attr]
        bar.end()
        before = terminal.getvalue()
    assert terminal.getvalue() == before


@pytest.mark.parametrize(("stream", "total"), [(io.StringIO(), 10), (Terminal(), 0)])
def test_elsewhere_nothing_is_shown_or_asked(stream: io.StringIO, total: int) -> None:
    asked = threading.Event()

    def count() -> int:
        asked.set()
        return 1

    with ReadingBar(total, count, stream):
        time.sleep(0.05)
    assert stream.getvalue() == ""
    assert not asked.is_set()
