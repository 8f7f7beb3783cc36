"""Rows of files become rows of a stream, or an error that says where: the examples of ``files.txt``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from ksqlpy.catalog import Source
from ksqlpy.errors import KsqlError
from ksqlpy.local.files import FileRowProblem, read_rows
from ksqlpy.local.rows import shown_json

TEXT = Path(__file__).with_name("files.txt").read_text(encoding="utf-8").split("\n\n", 1)[1]
EXAMPLES = [block.strip("\n").split("\n----\n") for block in TEXT.split("\n====\n")]

COLUMNS = (
    "id INT KEY, price DECIMAL(6, 2), ok BOOLEAN, day DATE, seen TIMESTAMP, tags ARRAY<STRING>,"
    " home STRUCT<city STRING, zip STRING>, note STRING"
)

Declare = Callable[..., Source]


@pytest.mark.parametrize(("given", "expected"), EXAMPLES)
def test_example(given: str, expected: str, declare: Declare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name, content = given.split("\n", 1)
    Path(name).write_text(content, encoding="utf-8")
    source = declare(COLUMNS)
    try:
        found = "\n".join(shown_json(row, source) for row in read_rows(Path(name), source))
    except KsqlError as e:
        found = f"! {e.message}"
    assert found == expected


def test_a_table_needs_its_key(declare: Declare, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("k,v\na,1\n,2\n")
    with pytest.raises(FileRowProblem, match=r"t.csv:3: a record of a table needs its key: K"):
        list(read_rows(file, declare("k STRING PRIMARY KEY, v INT")))


def test_what_is_printed_can_be_read_again(declare: Declare, tmp_path: Path) -> None:
    source = declare(COLUMNS)
    name, content = EXAMPLES[0][0].split("\n", 1)
    (tmp_path / name).write_text(content)
    rows = list(read_rows(tmp_path / name, source))
    (tmp_path / "again.jsonl").write_text("\n".join(shown_json(row, source) for row in rows))
    assert [{**dict.fromkeys(c.name for c in source.columns), **row.columns} for row in rows] == [
        dict(row.columns) for row in read_rows(tmp_path / "again.jsonl", source)
    ]


def test_parquet(declare: Declare, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "s.parquet"
    columns = {
        "id": [1, 2],
        "price": [Decimal("1.50"), None],
        "day": [date(2026, 1, 31), None],
        "seen": [datetime(2026, 1, 31, 12), None],
        "tags": [["a"], []],
        "home": [{"city": "Lima", "zip": "1"}, None],
    }
    parquet.write_table(arrow.table(columns), file)
    source = declare(COLUMNS)
    one, two = read_rows(file, source)
    assert one.columns["SEEN"] == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert one.columns["HOME"] == {"CITY": "Lima", "ZIP": "1"}
    assert shown_json(two, source).startswith('{"ID": 2, "PRICE": null, ')
    parquet.write_table(arrow.table({"id": ["1", "x"]}), file)
    with pytest.raises(FileRowProblem, match=r's.parquet: row 2: column id: "x" is no INTEGER'):
        list(read_rows(file, source))


def test_without_pyarrow_it_says_how_to_get_it(tmp_path: Path) -> None:
    # A process of its own, in which the package cannot be found.
    program = f"""
import sys
sys.modules["pyarrow"] = None
from pathlib import Path
from ksqlpy.__main__ import main
Path({str(tmp_path / "s.sql")!r}).write_text("CREATE STREAM s (a INT) WITH (kafka_topic='s', value_format='JSON');")
sys.exit(main(["datagen", "s", "-f", {str(tmp_path / "s.sql")!r}, "--print", "--from", "x.parquet"]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == (
        "error[missing-package]: reading x.parquet needs the package pyarrow\n = hint: pip install 'ksqlpy[parquet]'\n"
    )
