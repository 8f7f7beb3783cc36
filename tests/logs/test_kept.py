"""The last log lines of queries: those of each, and no more than there is room for."""

from __future__ import annotations

import contextvars
import logging
from collections.abc import Iterator

import pytest

from ksqlpy.config import Config
from ksqlpy.logs import KEPT, begin
from ksqlpy.logs.kept import LINES, LONGEST, QUERIES, Lines
from ksqlpy.logs.start import _own
from ksqlpy.request import QUERY


@pytest.fixture
def lines() -> Lines:
    return Lines()


@pytest.fixture
def logger(lines: Lines) -> logging.Logger:
    made = logging.Logger("ksqlpy.spark")
    made.addHandler(lines)
    return made


def said(logger: logging.Logger, query: str, text: str, error: Exception | None = None) -> None:
    context = contextvars.copy_context()
    context.run(QUERY.set, query)
    context.run(lambda: logger.error(text, exc_info=error))


def test_each_query_has_its_own(lines: Lines, logger: logging.Logger) -> None:
    said(logger, "A", "one")
    said(logger, "B", "two", OSError("away"))
    logger.error("of no query")
    assert [(line.level, line.message) for line in lines.of("A")] == [("ERROR", "one")]
    assert [line.message for line in lines.of("B")] == ["two: OSError: away"]
    assert lines.of("C") == []


def test_the_room_has_an_end(lines: Lines, logger: logging.Logger) -> None:
    for number in range(LINES + 5):
        said(logger, "A", f"{number}")
    assert [line.message for line in lines.of("A")] == [str(n) for n in range(5, LINES + 5)]
    said(logger, "A", "x" * 10_000)
    assert len(lines.of("A")[-1].message) == LONGEST
    for number in range(QUERIES):
        said(logger, f"Q{number}", "x")
    assert lines.of("A") == [] and lines.of("Q0") != [], "the query goes that has said nothing for the longest time"


def test_a_query_that_gets_the_id_of_another_has_none_of_its_lines(lines: Lines, logger: logging.Logger) -> None:
    said(logger, "A", "of the old one")
    lines.forget("A")
    lines.forget("B")
    said(logger, "A", "of the new one")
    assert [line.message for line in lines.of("A")] == ["of the new one"]


def test_a_line_that_cannot_be_written_fails_nobody(
    lines: Lines, logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    context = contextvars.copy_context()
    context.run(QUERY.set, "A")
    context.run(lambda: logger.error("%d rows", "many"))
    assert lines.of("A") == [] and "Logging error" in capsys.readouterr().err


@pytest.fixture
def as_before() -> Iterator[None]:
    root = logging.getLogger()
    before = list(root.handlers)
    yield
    for handler in [h for h in root.handlers if h not in before]:
        root.removeHandler(handler)
    _own.clear()


def test_a_process_that_serves_keeps_them_once(as_before: None) -> None:
    for _ in range(2):
        begin(Config.of({}))
    said(logging.getLogger("ksqlpy.tests"), "KEPT_1", "tried again")
    assert [line.message for line in KEPT.of("KEPT_1")] == ["tried again"]
