"""``ksqlpy query`` over files: the examples of ``queries.txt``, and what is refused."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow
import pytest
from pyarrow import parquet

from ksqlpy.commands.values import moment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
TEXT = (HERE / "queries.txt").read_text(encoding="utf-8").split("\n\n", 1)[1]
EXAMPLES = [block.strip("\n").split("\n----\n") for block in TEXT.split("\n====\n")]

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE / "data")


def inputs(sql: str) -> list[str]:
    """The options for the files that the query reads."""
    files = ("orders", "orders.csv"), ("customers", "customers.jsonl"), ("visits", "visits.csv")
    return [f"--input={name}={file}" for name, file in files if f" {name}" in sql]


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
    assert re.fullmatch(r"\d+ rows? in \d+\.\d s\n", done.err)
    assert (done.code, done.out) == (0, expected + "\n")


def test_records_that_cannot_be_read_are_told(ksqlpy: Run, spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "o.csv").write_text("id,customer,placed\n1,ann,1000\n2,bob,-5\n")
    done = ksqlpy("query", "-f", "sources.sql", "--input", f"orders={tmp_path / 'o.csv'}", "SELECT id FROM orders")
    assert done.code == 0
    reason = "column PLACED: event time is before 1970 (-5)"
    assert f"1 records could not be read:\n  topic orders, partition 0, offset 1: {reason}\n1 row in " in done.err


@pytest.mark.spark
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
def test_rows_in_a_file(ending: str, ksqlpy: Run, spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / f"visits.{ending}"
    file.write_text("older")
    sql = "SELECT who, stay, ROWTIME AS came FROM visits"
    done = ksqlpy("query", "-f", "sources.sql", *inputs(sql), "--to", "4000", "--out", file, sql)
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("3 rows in ")
    assert [f.name for f in tmp_path.iterdir()] == [file.name]
    rows = [("ann", 1.5, 1000), ("bob", None, 3000), ("ann", 0.25, 2000)]
    if ending == "csv":
        assert file.read_text() == "WHO,STAY,CAME\nann,1.5,1000\nbob,,3000\nann,0.25,2000\n"
    elif ending == "jsonl":
        assert [tuple(json.loads(line).values()) for line in file.read_text().splitlines()] == rows
    else:
        table: Any = parquet.read_table(file) if ending == "parquet" else pyarrow.ipc.open_file(file).read_all()
        assert [(f.name, str(f.type)) for f in table.schema] == [
            ("WHO", "string"), ("STAY", "double"), ("CAME", "int64"),
        ]  # fmt: skip
        assert [tuple(row.values()) for row in table.to_pylist()] == rows


@pytest.mark.spark
def test_a_query_that_fails_leaves_the_older_file(ksqlpy: Run, spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("older")
    given = ("query", "-f", "sources.sql", "--input=visits=visits.csv", "--out", file, "--timeout", "0.001")
    done = ksqlpy(*given, "SELECT page, COUNT(*) FROM visits GROUP BY page EMIT CHANGES")
    assert (done.code, done.out) == (1, "")
    assert "error[timeout]" in done.err
    assert [(f.name, f.read_text()) for f in tmp_path.iterdir()] == [("visits.csv", "older")]


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
        (("--to", "5", "--follow", "SELECT 1 FROM orders"), 2, "--to and --follow exclude each other"),
        (("--from", "5", "--to", "5", "SELECT 1 FROM orders"), 2, "--from is not before --to"),
        (("--from", "1970-01-02", "--to", "86399999", "SELECT 1 FROM orders"), 2, "--from is not before --to"),
        (("--from", "soon", "SELECT 1 FROM orders"), 2, "'soon' is no time from 1970 on"),
        (("--to", "latest", "SELECT 1 FROM orders"), 2, "'latest' is no time from 1970 on"),
        (("--out", "orders", "SELECT 1 FROM orders"), 2, "'orders' does not end with .csv, .jsonl, .parquet, .arrow"),
        (("--out", "o.csv", "--follow", "SELECT 1 FROM orders"), 2, "--out with --follow needs --limit or --timeout"),
        (
            ("-f", "sources.sql", "--input", "orders=orders.csv", "--from", "5", "SELECT id FROM orders"),
            1,
            "error[no-rowtime]: orders.csv: row 1 has no ROWTIME",
        ),
        (("--limit", "0", "SELECT 1 FROM orders"), 2, "no whole number from 1"),
        (("--input", "orders", "SELECT 1 FROM orders"), 2, "is not NAME=FILE"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], code: int, said: str, ksqlpy: Run) -> None:
    done = ksqlpy("query", *arguments)
    assert (done.code, done.out) == (code, "")
    assert said in done.err


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("0", 0),
        ("1769846400000", 1769846400000),
        ("2026-01-31T08:00:00Z", 1769846400000),
        ("2026-01-31 09:00+01:00", 1769846400000),
        ("2026-01-31T08:00:00", 1769846400000),
        ("2026-01-31", 1769817600000),
        ("1970-01-01T00:00:00.001", 1),
        ("1970-01-01T00:00:00.0011", 2),
        ("9999-12-31T23:59:59.999Z", 253402300799999),
        ("253402300800000", None),
        ("1969-12-31T23:59:59Z", None),
        ("-1", None),
        ("1.5", None),
        ("", None),
        ("9" * 5000, None),
    ],
)
def test_times(text: str, ms: int | None) -> None:
    if ms is None:
        with pytest.raises(argparse.ArgumentTypeError, match="is no time from 1970 on"):
            moment(text)
    else:
        assert moment(text) == ms
