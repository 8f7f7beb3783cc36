"""Files of rows: what stands in them, and that there is a whole one or none."""

from __future__ import annotations

import errno
import json
import sys
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from ksqlpy.catalog import Column
from ksqlpy.commands.outfile import ENDINGS, OutFile
from ksqlpy.errors import ConfigProblem, EngineProblem, EnvironmentProblem
from ksqlpy.local import columnar
from ksqlpy.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)

PRICE = DecimalType(6, 2)
MOMENT: Any = pyarrow.timestamp("ms", tz="UTC")
SEEN = StructType((("AT", TIMESTAMP), ("tags", MapType(STRING, PRICE))))

# A type, its values as the JSON of a row has them, the type in the file, and the values that are read from there.
TYPES: list[tuple[SqlType, list[Any], Any, list[Any]]] = [
    (BOOLEAN, [True, False, None], pyarrow.bool_(), [True, False, None]),
    (INTEGER, [-1, 2**31 - 1, None], pyarrow.int32(), [-1, 2**31 - 1, None]),
    (BIGINT, [-(2**63), 5, None], pyarrow.int64(), [-(2**63), 5, None]),
    (DOUBLE, [0.1, 3, "NaN", "-Infinity", None], pyarrow.float64(), [0.1, 3.0, "nan", float("-inf"), None]),
    (STRING, ["", "é\u2028\n,", None], pyarrow.string(), ["", "é\u2028\n,", None]),
    (
        PRICE,
        [Decimal("25.5"), 10, Decimal("-0.01"), Decimal("0E-2"), None],
        pyarrow.decimal128(6, 2),
        [Decimal("25.50"), Decimal("10.00"), Decimal("-0.01"), Decimal("0.00"), None],
    ),
    (BYTES, ["", "AAH/", None], pyarrow.binary(), [b"", b"\x00\x01\xff", None]),
    (DATE, [0, -1, 20484, None], pyarrow.date32(), [date(1970, 1, 1), date(1969, 12, 31), date(2026, 1, 31), None]),
    (TIME, [0, 86_399_999, None], pyarrow.time32("ms"), [time(), time(23, 59, 59, 999_000), None]),
    (
        TIMESTAMP,
        [1, 1769846400000, None],
        MOMENT,
        [datetime(1970, 1, 1, 0, 0, 0, 1000, UTC), datetime(2026, 1, 31, 8, tzinfo=UTC), None],
    ),
    (ArrayType(BYTES), [["AA=="], [None], [], None], pyarrow.list_(pyarrow.binary()), [[b"\x00"], [None], [], None]),
    (
        MapType(STRING, DATE),
        [{"b": 1, "a": None}, {}, None],
        pyarrow.map_(pyarrow.string(), pyarrow.date32()),
        [[("b", date(1970, 1, 2)), ("a", None)], [], None],
    ),
    (
        MapType(INTEGER, DOUBLE),
        [{"-1": Decimal("0.5")}],
        pyarrow.map_(pyarrow.int32(), pyarrow.float64()),
        [[(-1, 0.5)]],
    ),
    (
        SEEN,
        [{"AT": 0, "tags": {"x": 1}}, {"AT": None, "tags": None}, None],
        pyarrow.struct([("AT", MOMENT), ("tags", pyarrow.map_(pyarrow.string(), pyarrow.decimal128(6, 2)))]),
        [{"AT": datetime(1970, 1, 1, tzinfo=UTC), "tags": [("x", Decimal("1.00"))]}, {"AT": None, "tags": None}, None],
    ),
]


def written(file: Path, columns: list[Column], rows: list[list[Any]]) -> None:
    with OutFile(file, columns) as out:
        for row in rows:
            out.row(row)
        out.keep()


def read(file: Path) -> Any:
    if file.suffix == ".parquet":
        return parquet.read_table(file)
    with pyarrow.OSFile(str(file)) as opened:
        return pyarrow.ipc.open_file(opened).read_all()


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
@pytest.mark.parametrize(("type_", "given", "kind", "expected"), TYPES, ids=[str(t[0]) for t in TYPES])
def test_types(ending: str, type_: SqlType, given: list[Any], kind: Any, expected: list[Any], tmp_path: Path) -> None:
    file = tmp_path / f"rows{ending}"
    written(file, [Column("C", type_)], [[v] for v in given])
    table = read(file)
    assert table.schema.field("C").type == kind
    found = table.column("C").to_pylist()
    assert ["nan" if v != v else v for v in found] == expected


@pytest.mark.parametrize("ending", ENDINGS)
def test_many_rows_in_their_order(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columnar, "_FEW", 7)
    monkeypatch.setattr(columnar, "_ROWS", 20)
    file = tmp_path / f"ROWS{ending.upper()}"
    rows = [[i, f"text, {i}"] for i in range(100)]
    written(file, [Column("N", BIGINT), Column("T", STRING)], rows)
    if ending == ".csv":
        assert file.read_text() == "N,T\n" + "".join(f'{i},"{t}"\n' for i, t in rows)
    elif ending == ".jsonl":
        assert [list(json.loads(line).items()) for line in file.read_text().splitlines()] == [
            [("N", i), ("T", t)] for i, t in rows
        ]
    elif ending == ".parquet":
        assert parquet.ParquetFile(file).num_row_groups == 5  # of 21 rows, and what is left
        assert [list(r.values()) for r in parquet.read_table(file).to_pylist()] == rows
    else:
        with pyarrow.OSFile(str(file)) as opened:
            batches = pyarrow.ipc.open_file(opened)
            assert batches.num_record_batches == 5
            assert [list(r.values()) for r in batches.read_all().to_pylist()] == rows


def test_large_rows_are_written_before_there_are_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columnar, "_FEW", 2)
    monkeypatch.setattr(columnar, "_BYTES", 1000)
    written(tmp_path / "r.parquet", [Column("T", STRING)], [["x" * 400] for _ in range(8)])
    assert parquet.ParquetFile(tmp_path / "r.parquet").num_row_groups == 2


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_rows(ending: str, tmp_path: Path) -> None:
    file = tmp_path / f"rows{ending}"
    written(file, [Column("A", INTEGER)], [])
    if ending in (".csv", ".jsonl"):
        assert file.read_text() == ("A\n" if ending == ".csv" else "")
    else:
        assert (read(file).num_rows, read(file).schema.names) == (0, ["A"])


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("failing", [True, False])
def test_a_file_that_is_not_kept_leaves_the_older_one(ending: str, failing: bool, tmp_path: Path) -> None:
    file = tmp_path / f"rows{ending}"
    file.write_text("older")
    seen: list[int] = []

    def broken() -> None:
        with OutFile(file, [Column("A", INTEGER)]) as out:
            out.row([1])
            seen.append(len([*tmp_path.iterdir()]))
            if failing:
                raise KeyboardInterrupt

    if failing:
        with pytest.raises(KeyboardInterrupt):
            broken()
    else:
        broken()
    assert seen == [2]
    assert [(f.name, f.read_text()) for f in tmp_path.iterdir()] == [(file.name, "older")]


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "folder" / "rows.csv")
    written(tmp_path / "link.csv", [Column("A", INTEGER)], [[1]])
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "folder" / "rows.csv").read_text() == "A\n1\n"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").mkdir()
    with pytest.raises(ConfigProblem, match=r"rows\.csv cannot be written: is a directory"):
        OutFile(tmp_path / "rows.csv", []).__enter__()
    assert [*tmp_path.iterdir()] == [tmp_path / "rows.csv"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_is_told(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ConfigProblem, match=rf"rows\{ending} cannot be written: no space left on device"):
        written(tmp_path / f"rows{ending}", [Column("T", STRING)], [["x"]])
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("type_", "value", "said"),
    [
        (INTEGER, 2**31, "column C cannot be written as INTEGER"),
        (PRICE, Decimal("12345.6"), "column C cannot be written as DECIMAL\\(6, 2\\): too many digits"),
        (StructType(()), {}, ".parquet cannot hold the columns"),
    ],
)
def test_values_that_do_not_fit(type_: SqlType, value: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(EngineProblem, match=said):
        written(tmp_path / "rows.parquet", [Column("C", type_)], [[value]])
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_pyarrow_is_named_where_it_is_missing(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(EnvironmentProblem, match=f"writing {ending} files needs the package pyarrow") as raised:
        written(tmp_path / f"rows{ending}", [Column("A", INTEGER)], [])
    assert raised.value.code == "missing-package"
    assert [*tmp_path.iterdir()] == []
