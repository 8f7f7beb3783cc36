"""Aggregates and table functions in Python, beside those of SQL over the same rows: after each row both are equal."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ksqlpy.errors import KsqlError
from ksqlpy.testing.memory import EARLIEST, MemoryEngine, run_query
from ksqlpy.testing.records import Record
from tests.udf.declared import definitions, functions_of

FILE = "aggregates_of_a_user.py"
COLUMNS = "k STRING {key}, g STRING, v INT, d DOUBLE, m DECIMAL(12, 2), t STRING"
STREAM = f"CREATE STREAM s ({COLUMNS.format(key='KEY')}) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);"
TABLE = STREAM.replace("STREAM", "TABLE").replace("KEY,", "PRIMARY KEY,")

BOTH = {
    "COUNT(v)": "py_count(v)",
    "COUNT(*)": "py_rows()",
    "SUM(m)": "py_sum(m)",
    "AVG(d)": "py_avg(d)",
    "COLLECT_LIST(t)": "py_list(t)",
}
"""Calls with equal results, also where rows go again."""
NO_UNDO = {"STRUCT(least := MIN(v), most := MAX(v))": "py_bounds(v)"}


@pytest.fixture(scope="module", autouse=True)
def functions() -> Iterator[None]:
    with functions_of(FILE):
        yield


def row(values: random.Random) -> dict[str, Any]:
    """Values of which sums are exact, some of them null."""

    def perhaps(value: Any) -> Any:
        return None if values.random() < 0.15 else value

    return {
        "G": perhaps(values.choice("xyz")),
        "V": perhaps(values.randint(-1000, 1000)),
        "D": perhaps(values.randint(-4000, 4000) / 8),
        "M": perhaps(float(Decimal(values.randint(-(10**6), 10**6)) / 100)),
        "T": perhaps(values.choice(["", "a", "b\u00e4", "\U0001f600"])),
    }


def rows(count: int, *, seed: int, gone: float = 0.0, apart: int = 1000) -> list[Record]:
    values = random.Random(seed)
    made, now = [], 0
    for _ in range(count):
        now += values.choice([0, 1, apart // 2, apart, 3 * apart])
        at = now - values.choice([0, 0, 0, apart, 2 * apart])  # some come late, between two sessions, too
        value = None if values.random() < gone else json.dumps(row(values)).encode()
        made.append(Record("s", values.choice([b"a", b"b", b"c"]), value, max(0, at)))
    return made


def results(sql: str, records: Sequence[Record], spark: SparkSession, folder: Path) -> list[dict[str, Any] | None]:
    """The values of all results of the table t, a tombstone None."""
    engine = MemoryEngine(spark)
    engine.execute(sql, EARLIEST)
    for record in records:
        engine.broker.append(record)
    for number, (_, spec) in enumerate(engine.ordered_specs()):
        stored = [s for topic in spec.offsets for s in engine.broker.log[topic]]
        run_query(spec, engine, folder / str(number), stored)
    written = engine.broker.records()["T"]
    return [None if r.value is None else json.loads(r.value, parse_float=Decimal) for r in written]


def compared(calls: dict[str, str]) -> str:
    """A SELECT list in which the columns S0 and P0, S1 and P1, … are to be equal."""
    return ", ".join(f"{s} AS s{i}, {p} AS p{i}" for i, (s, p) in enumerate(calls.items()))


def check(found: list[dict[str, Any] | None], calls: dict[str, str], least: int) -> None:
    values = [r for r in found if r is not None]
    assert len(values) >= least
    for r in values:
        for i, both in enumerate(calls.items()):
            assert r[f"S{i}"] == r[f"P{i}"], both


@pytest.mark.spark
@pytest.mark.parametrize(
    ("window", "least"),
    [
        ("", 100),
        ("WINDOW TUMBLING (SIZE 2 SECONDS)", 100),
        ("WINDOW HOPPING (SIZE 3 SECONDS, ADVANCE BY 1 SECONDS, GRACE PERIOD 2 SECONDS)", 200),
        ("WINDOW SESSION (1 SECONDS, GRACE PERIOD 5 SECONDS)", 80),
    ],
)
def test_streams(window: str, least: int, spark: SparkSession, tmp_path: Path) -> None:
    calls = {**BOTH, **NO_UNDO}
    sql = f"{STREAM} CREATE TABLE t AS SELECT k, {compared(calls)} FROM s {window} GROUP BY k;"
    check(results(sql, rows(120, seed=1), spark, tmp_path), calls, least)


@pytest.mark.spark
def test_tables_whose_rows_change_and_go(spark: SparkSession, tmp_path: Path) -> None:
    sql = f"{TABLE} CREATE TABLE t AS SELECT g, {compared(BOTH)} FROM s GROUP BY g;"
    check(results(sql, rows(150, seed=2, gone=0.2), spark, tmp_path), BOTH, 100)


@pytest.mark.spark
def test_having_and_results_that_are_final(spark: SparkSession, tmp_path: Path) -> None:
    windows = "FROM s WINDOW TUMBLING (SIZE 2 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY k"
    sql = f"{STREAM} CREATE TABLE t AS SELECT k, py_sum(m) AS total, py_rows() AS n {windows}"
    plain = sql.replace("py_sum(m)", "SUM(m)").replace("py_rows()", "COUNT(*)")
    records = rows(100, seed=3)
    for number, (ending, condition) in enumerate([("", " HAVING {} > 1"), (" EMIT FINAL", "")]):
        of_python = results(sql + condition.format("py_rows()") + ending + ";", records, spark, tmp_path / f"p{number}")
        of_sql = results(plain + condition.format("COUNT(*)") + ending + ";", records, spark, tmp_path / f"s{number}")
        assert of_python == of_sql and len(of_python) > 10


@pytest.mark.spark
def test_a_row_that_fails_leaves_the_state_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    calls = {"SUM(CASE WHEN v % 2 = 0 THEN v ELSE 0 END)": "only_even(v)"}
    sql = f"{STREAM} CREATE TABLE t AS SELECT k, {compared(calls)} FROM s GROUP BY k;"
    check(results(sql, rows(60, seed=4), spark, tmp_path), calls, 60)


@pytest.mark.spark
def test_on_error_stop_ends_the_query(spark: SparkSession, tmp_path: Path) -> None:
    sql = f"{STREAM} CREATE TABLE t AS SELECT k, only_even_or_stop(v) AS x FROM s GROUP BY k;"
    odd = [Record("s", b"a", b'{"V":3}', 0)]
    with pytest.raises(Exception, match="3 is odd") as failed:
        results(sql, odd, spark, tmp_path)
    assert "function ONLY_EVEN_OR_STOP: ValueError: 3 is odd (line " in str(failed.value)


@pytest.mark.spark
def test_workers_that_are_killed_change_nothing(spark: SparkSession, tmp_path: Path) -> None:
    sql = f"{STREAM} CREATE TABLE t AS SELECT k, py_killed(t) AS n FROM s GROUP BY k;"
    files = [tmp_path / f"killed{i}" for i in range(5)]
    records = [Record("s", b"a", json.dumps({"T": str(f)}).encode(), 0) for f in files]
    assert results(sql, records, spark, tmp_path / "query") == [{"N": i} for i in range(1, 6)]
    assert all(f.exists() for f in files)


@pytest.mark.spark
def test_a_state_that_would_be_too_large_stays_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    sql = f"{STREAM} CREATE TABLE t AS SELECT k, hoard(v) AS n FROM s GROUP BY k;"
    sizes = [Record("s", b"a", b'{"V":%d}' % size, 0) for size in (600_000, 500_000, 400_000)]
    assert results(sql, sizes, spark, tmp_path) == [{"N": 600_000}, {"N": 600_000}, {"N": 1_000_000}]


@pytest.mark.spark
def test_the_checkpoint_has_the_state_by_its_type(spark: SparkSession, tmp_path: Path) -> None:
    sql = f"{STREAM} CREATE TABLE t AS SELECT k, py_avg(d) AS x FROM s GROUP BY k;"
    values = [Record("s", b"a", b'{"D":%.1f}' % d, 0) for d in (0.5, 2.0)] + [Record("s", b"b", b'{"D":4.0}', 0)]
    results(sql, values, spark, tmp_path)
    stored = spark.read.format("statestore").load(str(tmp_path / "0" / "checkpoint"))
    [cell] = [f for f in stored.schema["value"].dataType if "s0_" in f.name or "folded" in f.name]
    kept = stored.selectExpr("key.*", f"value.`{cell.name}`.*").collect()
    assert {r[0]: (r.state.TOTAL, r.state.COUNT, r.row) for r in kept} == {"a": (2.5, 2, None), "b": (4.0, 1, None)}


@pytest.mark.spark
def test_table_functions(spark: SparkSession, tmp_path: Path) -> None:
    sql = f"{STREAM} CREATE STREAM t AS SELECT k, pieces(t, '-') AS piece, letters(g) AS letter FROM s;"
    records = [Record("s", b"a", value, 0) for value in (b'{"T":"a-b","G":"xyz"}', b'{"T":"","G":""}', b'{"G":"x"}')]
    assert results(sql, records, spark, tmp_path) == [
        {"PIECE": "a", "LETTER": {"PLACE": 0, "LETTER": "x"}},
        {"PIECE": "b", "LETTER": {"PLACE": 1, "LETTER": "y"}},
        {"PIECE": None, "LETTER": {"PLACE": 2, "LETTER": "z"}},
        {"PIECE": "", "LETTER": None},
        {"PIECE": None, "LETTER": {"PLACE": 0, "LETTER": "x"}},  # no text to split: an error, so no piece
    ]


@pytest.mark.spark
def test_a_table_function_may_stop_the_query(spark: SparkSession, tmp_path: Path) -> None:
    sql = f"{STREAM} CREATE STREAM t AS SELECT k, pieces_or_stop(t) AS piece FROM s;"
    with pytest.raises(Exception, match="function PIECES_OR_STOP: AttributeError: "):
        results(sql, [Record("s", b"a", b"{}", 0)], spark, tmp_path)


@pytest.mark.spark
def test_a_table_function_without_an_end_gives_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    sql = f"{STREAM} CREATE STREAM t AS SELECT k, without_end(v) AS n, EXPLODE(ARRAY[v]) AS v FROM s;"
    found = results(sql, [Record("s", b"a", b'{"V":7}', 0)], spark, tmp_path)
    assert found == [{"N": None, "V": 7}]


@pytest.mark.spark
@pytest.mark.parametrize("window", ["", "WINDOW SESSION (1 SECONDS)", "WINDOW TUMBLING (SIZE 9 SECONDS)"])
def test_each_row_is_added_once(window: str, spark: SparkSession, tmp_path: Path) -> None:
    sql = f"{STREAM} CREATE TABLE t AS SELECT k, py_calls() AS n FROM s {window} GROUP BY k;"
    records = [Record("s", b"a", b'{"V":1}', at) for at in (0, 0, 1, 2)]
    found = [r["N"] for r in results(sql, records, spark, tmp_path) if r is not None]
    assert [n.split(" of ")[0] for n in found] == ["1", "2", "3", "4"]
    counted = [int(n.split(" of ")[1]) for n in found]
    assert [c - counted[0] for c in counted] == [0, 1, 2, 3]


@pytest.mark.spark
def test_a_table_function_is_called_once_for_a_row(spark: SparkSession, tmp_path: Path) -> None:
    sql = f"{STREAM} CREATE STREAM t AS SELECT k, py_called(v) AS n FROM s;"
    records = [Record("s", b"a", b'{"V":-1}', at) for at in range(4)]
    counted = [r["N"] for r in results(sql, records, spark, tmp_path) if r is not None and r["N"] != -1]
    assert [c - counted[0] for c in counted] == [0, 1, 2, 3]


@pytest.mark.spark
def test_a_table_function_may_be_not_deterministic(spark: SparkSession, tmp_path: Path) -> None:
    sql = f"{STREAM} CREATE STREAM t AS SELECT k, py_chance(v) AS n, v + 1 AS v FROM s WHERE v > 0;"
    records = [Record("s", b"a", b'{"V":%d}' % v, 0) for v in (1, 0, 2)]
    assert results(sql, records, spark, tmp_path) == [{"N": 1, "V": 2}, {"N": 2, "V": 3}]


def refused(sql: str) -> tuple[str, str]:
    engine = MemoryEngine(None)  # type: ignore[arg-type]  # no session: Spark runs nothing
    with pytest.raises(KsqlError) as error:
        engine.execute(sql, EARLIEST)
    return error.value.code, error.value.message


def test_sessions_need_merge_and_tables_undo() -> None:
    select = "CREATE TABLE t AS SELECT k, {} AS x FROM s {} GROUP BY k;"
    assert refused(STREAM + select.format("only_even(v)", "WINDOW SESSION (1 SECONDS)")) == (
        "no-merge",
        "ONLY_EVEN cannot be used in SESSION windows: it cannot make one session of two",
    )
    assert refused(TABLE + select.format("py_bounds(v)", "")) == (
        "no-undo",
        "PY_BOUNDS cannot be used on table S: it cannot take values back",
    )


def test_wrong_arguments_are_refused_by_the_types_of_the_class() -> None:
    code, message = refused(f"{STREAM} CREATE TABLE t AS SELECT k, py_avg(t) AS x FROM s GROUP BY k;")
    assert (code, message) == ("no-overload", "PY_AVG does not take (STRING)")


def test_a_class_says_what_its_aggregate_can() -> None:
    known = definitions(FILE)
    assert known["PY_BOUNDS"].merge and not known["PY_BOUNDS"].undo
    assert known["ONLY_EVEN"].undo and not known["ONLY_EVEN"].merge
    assert str(known["PY_AVG"].state) == "STRUCT<`TOTAL` DOUBLE, `COUNT` BIGINT>"
    assert str(known["LETTERS"].returns) == "STRUCT<`PLACE` INTEGER, `LETTER` STRING>"
