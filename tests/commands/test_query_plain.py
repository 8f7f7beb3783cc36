"""``ksqlpy query`` without Spark, where columns and conditions are plain, and the same questions with it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow
import pytest
from pyarrow import parquet

from ksqlpy.datagen import Generator, GeneratorSettings
from ksqlpy.local.rows import shown_json
from ksqlpy.local.sources import Declared
from ksqlpy.reading.push import plain_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = Path(__file__).with_name("plain.txt").read_text(encoding="utf-8").split("\n\n", 1)[1]
EXAMPLES = [block.strip("\n").split("\n----\n") for block in TEXT.split("\n====\n")]

Run = Callable[..., Any]


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*given: object) -> None:
        raise AssertionError("Spark is started")

    monkeypatch.setattr("ksqlpy.local.session.LocalSpark", started)


@pytest.fixture
def only_spark(monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    monkeypatch.setattr("ksqlpy.local.plain.plain_of", lambda typed, timed: None)


def answered(given: str, ksqlpy: Run, folder: Path) -> str:
    """What the command prints for a block: rows, what is said of records, and how many rows there were."""
    name, rest = given.split("\n", 1)
    content, options, sql = re.split(r"^--(.*)\n", rest, maxsplit=1, flags=re.MULTILINE)
    (folder / name).write_text(content, encoding="utf-8")
    words = f"--{options}".split() if options else []
    done = ksqlpy("query", f"--input={name.split('.')[0]}={folder / name}", "--output=csv", *words, sql)
    assert done.code == 0, done.err
    told = re.sub(r" in \d+\.\d s\n", "", re.sub(r"^Inferred .*\n", "", done.err))
    return f"{done.out}{told}"


@pytest.mark.parametrize(("given", "expected"), EXAMPLES)
def test_without_spark(given: str, expected: str, ksqlpy: Run, no_spark: None, tmp_path: Path) -> None:
    assert answered(given, ksqlpy, tmp_path) == expected


@pytest.mark.parametrize(("given", "expected"), EXAMPLES)
def test_with_spark(given: str, expected: str, ksqlpy: Run, only_spark: None, tmp_path: Path) -> None:
    assert answered(given, ksqlpy, tmp_path) == expected


ALL = (
    "CREATE STREAM s (k BIGINT KEY, b BOOLEAN, i INT, l BIGINT, d DOUBLE, n DECIMAL(12, 3), t STRING, y BYTES,"
    " day DATE, clock TIME, seen TIMESTAMP, tags ARRAY<DOUBLE>, m MAP<STRING, DECIMAL(4, 1)>,"
    " o STRUCT<a INT, f DOUBLE, y BYTES>)"
    " WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
)


def test_values_of_every_type(ksqlpy: Run, only_spark: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Invented rows: what Spark prints of them is printed without it, too, also behind a condition."""
    declared = Declared()
    declared.take(ALL)
    source = declared.source("s")
    rows = Generator(source, GeneratorSettings(keys=40, nulls=0.2, seed=5)).rows()
    file = tmp_path / "s.jsonl"
    file.write_text("".join(f"{shown_json(row, source)}\n" for row, _ in zip(rows, range(300), strict=False)))
    for condition in ("", " WHERE k > 9 AND (d < 500.5 OR t >= 'm' OR b = true OR b <> true)"):
        given = [
            "query",
            f"--input=s={file}",
            "--output=json",
            "-e",
            ALL,
            f"SELECT *, ROWTIME AS time FROM s{condition}",
        ]
        by_spark = ksqlpy(*given).out
        with monkeypatch.context() as plainly:
            plainly.setattr("ksqlpy.local.plain.plain_of", plain_of)
            plainly.setattr("ksqlpy.commands.query._spark_way", None)
            assert ksqlpy(*given).out == by_spark
        assert by_spark.count("\n") == 300 if not condition else 0 < by_spark.count("\n") < 300


def test_spark_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "rides.csv").write_text("id,km\n1,2\n2,3\n")
    program = (
        "import sys; from ksqlpy.__main__ import main\n"
        "main(['query', '--input=rides=rides.csv', '--output=csv', 'SELECT id FROM rides WHERE km > 2'])\n"
        "print(*sorted({m.split('.')[0] for m in sys.modules} & {'pyspark', 'py4j', 'confluent_kafka'}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.stdout == "ID\n2\n\n", done.stderr


# ---------------------------------------------------------------- inferred columns

INFERRED = Path(__file__).with_name("inferred.txt").read_text(encoding="utf-8").split("\n\n", 1)[1]


@pytest.mark.parametrize(
    ("given", "told"), [block.strip("\n").split("\n----\n") for block in INFERRED.split("\n====\n")]
)
def test_columns_are_inferred(
    given: str, told: str, ksqlpy: Run, no_spark: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name, content = given.split("\n", 1)
    Path(name).write_text(content, encoding="utf-8")
    done = ksqlpy("query", f"--input=rides={name}", "SELECT * FROM rides")
    assert done.err.startswith(told)
    assert done.code == (0 if told.startswith("Inferred") else 1)


def test_parquet_says_its_types(ksqlpy: Run, no_spark: None, tmp_path: Path) -> None:
    moment = datetime(2026, 1, 31, 12, 0, 0, 500_000, UTC)
    columns = {
        "small": pyarrow.array([1, None], pyarrow.int16()),
        "wide": pyarrow.array([1, None], pyarrow.uint32()),
        "widest": pyarrow.array([2**64 - 1, None], pyarrow.uint64()),
        "half": pyarrow.array([0.5, None], pyarrow.float16()),
        "cost": pyarrow.array([Decimal("1.50"), None], pyarrow.decimal128(6, 2)),
        "word": pyarrow.array(["a", None], pyarrow.string()).dictionary_encode(),
        "raw": pyarrow.array([b"\x01\x02", None], pyarrow.binary(2)),
        "day": pyarrow.array([date(2026, 1, 31), None]),
        "clock": pyarrow.array([25_689_500_000_001, None], pyarrow.time64("ns")),
        "seen": pyarrow.array([moment, None], pyarrow.timestamp("us")).cast(pyarrow.timestamp("ns", "America/Lima")),
        "nothing": pyarrow.array([None, None]),
        "tags": pyarrow.array([["a"], []], pyarrow.large_list(pyarrow.string())),
        "fares": pyarrow.array([[(7, 1)], None], pyarrow.map_(pyarrow.int32(), pyarrow.int64())),
        "home": pyarrow.array([{"city": "Lima", "at": 1_000_000_001}, None], pyarrow.struct(
            [("city", pyarrow.string()), ("at", pyarrow.timestamp("ns"))]
        )),
    }  # fmt: skip
    file = tmp_path / "r.parquet"
    parquet.write_table(pyarrow.table(columns), file)
    done = ksqlpy("query", f"--input=r={file}", "--output=json", "SELECT * FROM r WHERE small = 1")
    assert done.err.splitlines()[0] == (
        f"Inferred from the schema of {file}: R (`SMALL` INTEGER, `WIDE` BIGINT, `WIDEST` DECIMAL(20, 0),"
        " `HALF` DOUBLE, `COST` DECIMAL(6, 2), `WORD` STRING, `RAW` BYTES, `DAY` DATE, `CLOCK` TIME, `SEEN` TIMESTAMP,"
        " `NOTHING` STRING, `TAGS` ARRAY<STRING>, `FARES` MAP<STRING, BIGINT>,"
        " `HOME` STRUCT<`CITY` STRING, `AT` TIMESTAMP>)"
    )
    assert json.loads(done.out) == {
        "SMALL": 1, "WIDE": 1, "WIDEST": 2**64 - 1, "HALF": 0.5, "COST": 1.5, "WORD": "a", "RAW": "AQI=", "DAY": 20484,
        "CLOCK": 25689500, "SEEN": 1769860800500, "NOTHING": None, "TAGS": ["a"], "FARES": {"7": 1},
        "HOME": {"CITY": "Lima", "AT": 1000},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pyarrow.array([1], pyarrow.duration("s")), "column x is of type duration[s], for which SQL has none"),
        (pyarrow.array([[1]], pyarrow.list_(pyarrow.duration("s"))), "column x is of type duration[s]"),
        (
            pyarrow.array([{"a": {"b": 1}}], pyarrow.struct([("a", pyarrow.struct([("b", pyarrow.duration("s"))]))])),
            "column x->a->b is of type duration[s]",
        ),
        (pyarrow.array([None], pyarrow.struct([("a", pyarrow.int8()), ("A", pyarrow.int8())])), "column x is of type"),
        (pyarrow.array([None], pyarrow.decimal256(40, 2)), "column x is of type decimal256(40, 2)"),
    ],
)
def test_parquet_with_types_that_sql_lacks(column: Any, said: str, ksqlpy: Run, tmp_path: Path) -> None:
    file = tmp_path / "r.parquet"
    parquet.write_table(pyarrow.table({"x": column}), file)
    done = ksqlpy("query", f"--input=r={file}", "SELECT * FROM r")
    assert done.code == 1
    assert done.err.startswith(f"error[not-inferred]: {file}: {said}")
    assert "\n = hint: declare its columns" in done.err


def test_a_row_behind_those_that_were_looked_at(ksqlpy: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ksqlpy.local.inference.LOOKED_AT", 2)
    file = tmp_path / "r.csv"
    file.write_text("id\n1\n2\n2.5\n")
    done = ksqlpy("query", f"--input=r={file}", "--output=csv", "SELECT * FROM r")
    assert (done.code, done.out) == (1, "ID\n1\n2\n")
    assert done.err.startswith(
        f"Inferred from the first 2 rows of {file}: R (`ID` BIGINT)\nerror[wrong-value]: {file}:4: "
    )
    assert "\n = hint: columns were inferred from the rows at the beginning only; declare its columns: " in done.err


@pytest.mark.parametrize(
    ("name", "row", "said"),
    [
        ("r.jsonl", '{"a": ' + "[" * 100_000, "error[not-json]: r.jsonl:2: this is no JSON: it is nested too deeply"),
        ("r.json", "9" * 5000, "error[not-json]: r.json:2: this is no JSON: a number has too many digits"),
        ("r.csv", "9" * 5000, "Inferred from 1 row of r.csv: R (`{\"A\": 1}` STRING)"),
        ("r.csv", "9" * 500_000, "error[not-csv]: r.csv:2: this is no CSV: field larger than field limit"),
    ],
)  # fmt: skip
def test_odd_values(
    name: str, row: str, said: str, ksqlpy: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(f'{{"a": 1}}\n{row}\n')
    assert ksqlpy("query", f"--input=r={name}", "SELECT * FROM r").err.startswith(said)


def test_a_declared_source_keeps_its_columns(ksqlpy: Run, no_spark: None, tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_text("id,km\n1,2\n")
    declared = "CREATE STREAM r (km STRING) WITH (KAFKA_TOPIC = 'r', VALUE_FORMAT = 'JSON');"
    done = ksqlpy("query", f"--input=r={file}", "--output=json", "-e", declared, "SELECT * FROM r")
    assert done.out == '{"KM": "2"}\n'
    assert done.err.startswith("1 row in ")


@pytest.mark.parametrize("sql", ["SELECT * FROM nowhere", "SELECT FOOO(id) FROM r", "SET 'a.b' = '1'; SELECT * FROM r"])
def test_no_hint_sends_to_a_server(sql: str, ksqlpy: Run, tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_text("id,km\n1,2\n")
    done = ksqlpy("query", f"--input=r={file}", sql)
    assert done.code == 1
    assert "error[unknown-" in done.err and "SHOW" not in done.err and "server" not in done.err


def test_a_later_declaration_counts(ksqlpy: Run, no_spark: None, tmp_path: Path) -> None:
    """Also where a statement between reads another file, of which nothing is declared."""
    file = tmp_path / "r.csv"
    file.write_text("id,km\n1,2\n")
    given = ["query", f"--input=r={file}", "--output=json"]
    between = (
        "CREATE STREAM s (a INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON'); CREATE STREAM o AS SELECT a FROM s;"
    )
    declared = "CREATE STREAM r (km STRING) WITH (KAFKA_TOPIC = 'r', VALUE_FORMAT = 'JSON');"
    assert ksqlpy(*given, "-e", between, "-e", declared, "SELECT * FROM r").out == '{"KM": "2"}\n'
    derived = "CREATE STREAM far AS SELECT id FROM r WHERE km > 1;"
    assert ksqlpy(*given, "-e", derived, "SELECT * FROM r").out == '{"ID": 1, "KM": 2}\n'
