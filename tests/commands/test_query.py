"""``ksqlpy query`` over files: the examples of ``queries.txt``, and what is refused."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
TEXT = (HERE / "queries.txt").read_text(encoding="utf-8").split("\n\n", 1)[1]
EXAMPLES = [block.strip("\n").split("\n----\n") for block in TEXT.split("\n====\n")]
ALL = ("-f", "sources.sql", "--input", "orders=orders.csv", "--input", "customers=customers.jsonl")

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE / "data")


def inputs(sql: str) -> list[str]:
    """The options for the files that the query reads."""
    return [f"--input={name}={file}" for name, file in (("orders", "orders.csv"), ("customers", "customers.jsonl"))
            if f" {name}" in sql]  # fmt: skip


@pytest.mark.spark
@pytest.mark.parametrize(("given", "expected"), EXAMPLES)
def test_example(given: str, expected: str, ksqlpy: Run, spark: SparkSession) -> None:
    options, sql = given.split("\n", 1)
    lexer = shlex.shlex(options, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.quotes = True, ""
    words = list(lexer)
    if "-e" in words:  # its statement reaches to the semicolon
        at, end = words.index("-e"), next(i for i, w in enumerate(words) if w.endswith(";"))
        words[at + 1 : end + 1] = [" ".join(words[at + 1 : end + 1])]
    done = ksqlpy("query", "-f", "sources.sql", *inputs(sql), *words, sql)
    assert done.err == ""
    assert (done.code, done.out) == (0, expected + "\n")


def test_records_that_cannot_be_read_are_told(ksqlpy: Run, spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "o.csv").write_text("id,customer,placed\n1,ann,1000\n2,bob,-5\n")
    done = ksqlpy("query", "-f", "sources.sql", "--input", f"orders={tmp_path / 'o.csv'}", "SELECT id FROM orders")
    assert done.code == 0
    reason = "column PLACED: event time is before 1970 (-5)"
    assert f"1 records could not be read:\n  topic orders, partition 0, offset 1: {reason}" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("SELECT * FROM nothing",), 1, "nothing"),
        (("-f", "sources.sql", "SELECT * FROM orders"), 1, "error[no-kafka]"),
        (("-f", "sources.sql", "--input", "order=orders.csv", "SELECT * FROM orders"), 1, "did you mean `ORDERS`?"),
        (("-f", "sources.sql", "--input", "orders=orders.txt", "SELECT * FROM orders"), 1, "error[file-format]"),
        (("-f", "sources.sql", "--input", "orders=away.csv", "SELECT * FROM orders"), 1, "error[file-unreadable]"),
        (("-f", "away.sql", "SELECT * FROM orders"), 1, "error[file-unreadable]"),
        (("-f", "sources.sql"), 1, "error[no-query]"),
        (("-f", "sources.sql", "SELECT 1 FROM orders; SELECT 2 FROM orders"), 1, "error[one-query]"),
        (("-f", "sources.sql", "DROP STREAM orders; SELECT 2 FROM orders"), 1, "error[declarations-only]"),
        (("-f", "sources.sql", "-f", "sources.sql", "SELECT 2 FROM orders"), 1, "error[already-exists]"),
        (("--from", "latest", "SELECT 1 FROM orders"), 2, "--from latest needs --follow"),
        (("--limit", "0", "SELECT 1 FROM orders"), 2, "no whole number from 1"),
        (("--input", "orders", "SELECT 1 FROM orders"), 2, "is not NAME=FILE"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], code: int, said: str, ksqlpy: Run) -> None:
    done = ksqlpy("query", *arguments)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
