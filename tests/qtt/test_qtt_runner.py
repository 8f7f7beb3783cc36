"""The runner itself: what it reads, how it compares, what it lets pass and what not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import AnalysisProblem, SyntaxProblem
from ksqlpy.runtime import Engine
from ksqlpy.testing.registry import shared_registry
from ksqlpy.testing.served import Pace

from .cases import Case, read_folder, read_json
from .compare import same
from .encoding import Double
from .functions import provided_functions
from .judge import Verdict, altered, skipped
from .liverun import Both, drawn, lost, run_live_all, sampled
from .parsing import check_parsing
from .readme import BEGIN, END, read_figures, write_table
from .refusals import unfit
from .report import Result, counts, reasons, save, table
from .runner import find_cases, run_one
from .sqlfiles import read_sql_folder, statements_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RIDES = "CREATE STREAM rides (id INT KEY, fare DOUBLE) WITH (kafka_topic='rides', value_format='JSON');"
DEAR = "CREATE STREAM dear AS SELECT id, fare FROM rides WHERE fare > 10;"
PER_ID = "CREATE TABLE per_id AS SELECT id, COUNT(*) AS n, SUM(fare) AS total FROM rides GROUP BY id;"


def ride(key: object, value: object, time: int = 0) -> dict[str, Any]:
    return {"topic": "rides", "key": key, "value": value, "timestamp": time}


def out(topic: str, key: object, value: object, **more: object) -> dict[str, Any]:
    return {"topic": topic, "key": key, "value": value, **more}


TWO_RIDES = [ride(1, {"fare": 8.5}, 5), ride(2, {"fare": 12.5}, 7)]
REFUSED = {"type": "io.confluent.ksql.util.KsqlStatementException", "message": "no such column"}

FILE = {
    "tests": [
        {
            "name": "filter",
            "statements": [RIDES, DEAR],
            "inputs": TWO_RIDES,
            "outputs": [out("DEAR", 2, {"FARE": 12.5}, timestamp=7)],
            "post": {"sources": [{"name": "DEAR", "type": "stream", "schema": "ID INT KEY, `FARE` DOUBLE"}]},
        },
        {
            "name": "each change counts",
            "statements": [RIDES, PER_ID],
            "inputs": [*TWO_RIDES, ride(1, {"fare": 1.5})],
            "outputs": [
                out("PER_ID", 1, {"N": 1, "TOTAL": 8.5}),
                out("PER_ID", 2, {"N": 1, "TOTAL": 12.5}),
                out("PER_ID", 1, {"N": 2, "TOTAL": 10.0}),
            ],
        },
        {
            "name": "two queries in a row",
            "statements": [RIDES, DEAR, "CREATE STREAM ids AS SELECT id, id * 2 AS twice FROM dear;"],
            "inputs": TWO_RIDES,
            "outputs": [out("IDS", 2, {"TWICE": 4})],
        },
        {
            "name": "inserted",
            "statements": [RIDES, DEAR, "INSERT INTO rides VALUES (4, 99.5);"],
            "outputs": [out("DEAR", 4, {"FARE": 99.5}, timestamp=0)],
        },
        {
            "name": "wrong value",
            "statements": [RIDES, DEAR],
            "inputs": TWO_RIDES,
            "outputs": [out("DEAR", 2, {"FARE": 12})],
        },
        {
            "name": "a record too many",
            "statements": [RIDES, DEAR],
            "inputs": TWO_RIDES,
            "outputs": [out("DEAR", 2, {"FARE": 12.5}), out("DEAR", 3, {"FARE": 13.5})],
        },
        {
            "name": "wrong time",
            "statements": [RIDES, DEAR],
            "inputs": TWO_RIDES,
            "outputs": [out("DEAR", 2, {"FARE": 12.5}, timestamp=8)],
        },
        {
            "name": "wrong schema",
            "statements": [RIDES, DEAR],
            "inputs": TWO_RIDES,
            "outputs": [out("DEAR", 2, {"FARE": 12.5})],
            "post": {"sources": [{"name": "DEAR", "schema": "ID BIGINT KEY, FARE DOUBLE"}]},
        },
        {"name": "bad column", "statements": [RIDES, "CREATE STREAM o AS SELECT id, x FROM rides;"],
         "expectedException": REFUSED},
        {"name": "refused before the last statement", "statements": ["CREATE STREAM o AS SELECT id FROM none;", RIDES],
         "expectedException": REFUSED},
        {"name": "should be refused", "statements": [RIDES, DEAR], "expectedException": REFUSED},
        {"name": "a function that is not there",
         "statements": [RIDES, "CREATE STREAM o AS SELECT id, nope(fare) AS x FROM rides;"],
         "expectedException": REFUSED},
        {"name": "only the branch that is taken", "statements": [RIDES,
         "CREATE STREAM o AS SELECT id, CASE WHEN fare > 10 THEN WHENRESULT(1, true) ELSE WHENRESULT(2, false) END AS c"
         " FROM rides;"],
         "inputs": [ride(2, {"fare": 12.5})], "outputs": [out("O", 2, {"C": 1})]},
        {"name": "as many partitions as ksqlDB's runners give", "statements": [RIDES, DEAR],
         "inputs": TWO_RIDES, "outputs": [out("DEAR", 2, {"FARE": 12.5})],
         "post": {"topics": {"topics": [{"name": "DEAR", "partitions": 4}]}}},
        {"name": "off", "statements": [RIDES, DEAR], "enabled": False},
        {"name": "formats", "format": ["JSON", "AVRO", "PROTOBUF"],
         "statements": [RIDES.replace("JSON", "{FORMAT}"), DEAR], "inputs": TWO_RIDES,
         "outputs": [out("DEAR", 2, {"FARE": 12.5})]},
    ]
}  # fmt: skip

EXPECTED = {
    "filter": "passed",
    "each change counts": "passed",
    "two queries in a row": "passed",
    "inserted": "passed",
    "wrong value": "failed",
    "a record too many": "failed",
    "wrong time": "failed",
    "wrong schema": "failed",
    "bad column": "passed",
    "refused before the last statement": "failed",
    "should be refused": "failed",
    "a function that is not there": "failed",
    "only the branch that is taken": "passed",
    "as many partitions as ksqlDB's runners give": "passed",
    "off": "skipped",
    "formats - JSON": "passed",
    "formats - AVRO": "passed",
    "formats - PROTOBUF": "passed",
}


@pytest.fixture(autouse=True)
def functions() -> Iterator[None]:
    with provided_functions():
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("qtt")
    (found / "rides.json").write_text("// of rides\n" + json.dumps(FILE), encoding="utf-8")
    (found / "sql").mkdir()
    (found / "sql" / "rides.sql").write_text(SQL_FILE, encoding="utf-8")
    return found


@pytest.mark.spark
def test_verdicts(folder: Path, spark: SparkSession, tmp_path: Path) -> None:
    results = [run_one(c, spark, tmp_path) for c in read_folder(folder)]
    assert {r.name: r.verdict.result for r in results} == EXPECTED, [r.verdict.reason for r in results]
    assert [r.name for r in results if r.mutant_passed] == []
    assert counts(results) == "10 passed, 7 failed, 1 skipped"
    assert "stream aggregate" in table(results)
    assert "not refused" in reasons(results, "failed", 20)
    save(results, tmp_path / "report.json")
    saved = json.loads((tmp_path / "report.json").read_text())["cases"]
    assert {c["name"]: c["result"] for c in saved} == EXPECTED
    assert saved[-1]["reason"] == ""


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "ksqlpy.warm.up": "false",
        "ksqlpy.data.dir": str(tmp_path_factory.mktemp("engine")),
        "ksql.service.id": "qtt_",
    }
    registry, name = shared_registry()
    settings["ksql.schema.registry.url"] = registry.url(name)
    made = Engine(Config.of({**settings, "ksqlpy.spark.master": spark.sparkContext.master}))
    made.start()
    yield made
    made.stop()


@pytest.mark.kafka
@pytest.mark.spark
def test_live_verdicts(folder: Path, engine: Engine) -> None:
    """On a real broker the same cases pass and fail, also with records of the year 1970's first millisecond."""
    cases = [c for c in read_folder(folder) if c.expected_error is None and skipped(c) is None]
    found = run_live_all(engine, cases, Pace(late=2), jobs=4, lax=False)
    assert {title(c): v.result for c, v in zip(cases, found, strict=True)} == {
        title(c): EXPECTED[title(c)] for c in cases
    }, found
    results = [Both(c, Verdict("passed"), v) for c, v in zip(cases, found, strict=True)]
    assert f"{len(lost(results))} pass in memory only" in drawn(results)
    assert {r.case.name for r in lost(results)} == {n for n, result in EXPECTED.items() if result == "failed"} & {
        c.name for c in cases
    }


def title(case: Case) -> str:
    return f"{case.name} - {case.format}" if case.format else case.name


def test_the_live_sample_is_of_cases_that_want_records(folder: Path) -> None:
    cases = list(read_folder(folder))
    assert [c.name for c in sampled(cases, 9)] == ["each change counts"]
    assert sampled(cases, 9, records=4) == []


def test_a_table_is_written_between_its_markers(folder: Path, tmp_path: Path) -> None:
    verdicts = [("UDTF", "passed"), ("TTJ", "passed"), ("TTJ", "failed"), ("TTJ", "skipped"), ("SQL tests", "skipped")]
    results = [Result("f", "n", category, (), Verdict(result)) for category, result in verdicts]
    file = tmp_path / "some.md"
    file.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    (tmp_path / "README.md").write_text(f"cases of commit {'1f' * 20}.", encoding="utf-8")
    write_table(file, results, tmp_path)
    text = file.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{BEGIN}\n") and text.endswith(f"{END}\nafter\n") and "old" not in text
    assert f"commit {'1f' * 6}." in text and "| table-table join | 2 | 1 | 1 | 50.0 % |" in text
    figures = read_figures(text)
    assert figures.pop("table-table join") == (2, 1, 1)
    assert figures == {"UDTF": (1, 1, 0), "SQL tests": (0, 0, 1), "all": (3, 2, 2)}
    file.write_text("without", encoding="utf-8")
    with pytest.raises(ValueError, match="no markers"):
        write_table(file, results, tmp_path)


def test_the_docs_have_a_table_that_adds_up() -> None:
    figures = read_figures((Path(__file__).parents[2] / "docs" / "conformance.md").read_text(encoding="utf-8"))
    total = figures.pop("all")
    assert figures and all(passed <= run for run, passed, _ in figures.values())
    assert total == tuple(map(sum, zip(*figures.values(), strict=True)))


def test_alteration_changes_every_record(folder: Path) -> None:
    for case in read_folder(folder):
        other = altered(case)
        if case.expected_error is not None:
            assert other is not None and other.expected_error is None
        elif other is not None:
            pairs = list(zip(case.outputs, other.outputs, strict=True))
            assert pairs and not any(same(a.value, b.value, lax=True) for a, b in pairs)


def test_comments_and_exact_numbers() -> None:
    assert read_json('{"a": 1.00, /* no */ "b // no": 1} // end') == {"a": Decimal("1.00"), "b // no": 1}
    assert str(read_json("[1.00]")[0]) == "1.00"


@pytest.mark.parametrize(
    ("expected", "actual", "equal", "lax"),
    [
        (Decimal("1.0"), Decimal("1.0"), True, True),
        (Decimal("1.0"), Decimal("1.00"), False, True),
        (Decimal("1.5"), 1, True, False),
        (1, Decimal("1.0"), False, True),
        (2, 2.0000001, True, True),
        (2**63, 2**63, False, True),
        (1, True, False, False),
        (True, 1, False, False),
        (Decimal("1.0"), Double("1.00"), False, True),
        (Decimal("2.0000000000000001E-3"), Double("0.002"), True, True),
        (Decimal("2.0000000000000001E-3"), Decimal("0.002"), False, True),
        (Decimal("2.0000000000000017E-3"), Double("0.002"), False, True),
        ("1.50", Decimal("1.50"), True, True),
        ("1.5", Decimal("1.50"), False, False),
        ("YQ==", b"a", True, True),
        (None, None, True, True),
        (None, 0, False, False),
        ({"a": None}, {}, False, False),
        ({"a": 1}, {"A": 1}, True, True),
        ({"A": 1}, {"a": 1}, False, False),
        ([1, 2], [2, 1], False, False),
    ],
)
def test_same(expected: object, actual: object, equal: bool, lax: bool) -> None:
    assert same(expected, actual, lax=False) is equal
    assert same(expected, actual, lax=True) is lax


def test_what_is_not_built_is_no_refusal() -> None:
    wanted = {"type": "KsqlStatementException", "message": "something else"}
    assert unfit(AnalysisProblem("unknown-column", "no"), wanted) is None
    assert unfit(AnalysisProblem("unknown-function", "no"), wanted) is not None
    assert unfit(AnalysisProblem("unknown-function", "no"), {**wanted, "message": "Unknown function"}) is None
    assert unfit(SyntaxProblem("syntax-error", "no"), wanted) is not None
    assert unfit(SyntaxProblem("syntax-error", "no"), {**wanted, "type": "ParseFailedException"}) is None
    assert unfit(SyntaxProblem("unknown-statement", "no"), {**wanted, "type": "ParseFailedException"}) is not None
    assert unfit(AnalysisProblem("unknown-column", "no"), {"type": "x.StreamsException"}) is not None
    assert unfit(AnalysisProblem("no-registry", "there is none"), wanted) is not None


def test_categories() -> None:
    def category(*statements: str) -> str:
        return Case("f", "n", statements).category

    table_ = "CREATE TABLE t (id INT PRIMARY KEY, x INT) WITH (kafka_topic='t', value_format='JSON');"
    other = table_.replace("TABLE t", "TABLE u")
    assert category(RIDES, DEAR) == "stateless"
    assert category(RIDES, PER_ID) == "stream aggregate"
    assert category(table_, "CREATE TABLE o AS SELECT x, COUNT(*) FROM t GROUP BY x;") == "table aggregate"
    assert category(RIDES, table_, "CREATE STREAM o AS SELECT * FROM rides JOIN t ON rides.id = t.id;") == "STJ"
    assert category(table_, other, "CREATE TABLE o AS SELECT * FROM t JOIN u ON t.id = u.id;") == "TTJ"
    assert category(table_, other, "CREATE TABLE o AS SELECT * FROM t JOIN u ON t.x = u.id;") == "FK join"
    assert category(RIDES, "CREATE STREAM o AS SELECT TRANSFORM(xs, x => x) FROM rides;") == "lambda"
    assert category(RIDES, "CREATE STREAM o AS SELECT * FROM rides PARTITION BY fare;") == "PARTITION BY"


def test_parsing(folder: Path) -> None:
    bad = Case("f", "bad", ("CREATE STREAM;",))
    meant = Case("f", "meant", ("CREATE;",), expected_error={"type": "x.ParseFailedException"})
    looked, failures = check_parsing([*read_folder(folder), bad, meant])
    assert looked > 8
    assert [f.case for f in failures] == ["f - bad"]


# ---------------------------------------------------------------- SQL test files

SQL_FILE = """
-- of rides; not a case
--@test: a ride is copied
CREATE STREAM rides (id INT KEY, fare INT) WITH (kafka_topic='rides', value_format='JSON');
CREATE STREAM copies AS SELECT * FROM rides;
ASSERT STREAM copies (id INT KEY, fare INT) WITH (kafka_topic='COPIES', value_format='JSON');
INSERT INTO rides (rowtime, id, fare) VALUES (5, 1, 20);
INSERT INTO rides (rowtime, id, fare) VALUES (6, 2, 30);
ASSERT VALUES copies (rowtime, id, fare) VALUES (5, 1, 20);
ASSERT VALUES copies (fare) VALUES (30);
--@test: a wrong value
CREATE STREAM rides (id INT KEY, fare INT) WITH (kafka_topic='rides', value_format='JSON');
INSERT INTO rides (id, fare) VALUES (1, 20);
ASSERT VALUES rides (fare) VALUES (21);
--@test: a wrong value is expected
--@expected.error: java.lang.AssertionError
--@expected.message: differs
CREATE STREAM rides (id INT KEY, fare INT) WITH (kafka_topic='rides', value_format='JSON');
INSERT INTO rides (id, fare) VALUES (1, 20);
ASSERT VALUES rides (fare) VALUES (21);
--@test: an error is expected
--@expected.error: io.confluent.ksql.util.KsqlException
--@expected.message: none does not exist
CREATE STREAM copies AS SELECT * FROM none;
--@test: an error is expected and does not come
--@expected.error: io.confluent.ksql.util.KsqlException
--@expected.message: none does not exist
CREATE STREAM rides (id INT KEY, fare INT) WITH (kafka_topic='rides', value_format='JSON');
--@test: state goes on
CREATE STREAM rides (id INT KEY, fare INT) WITH (kafka_topic='rides', value_format='JSON');
CREATE TABLE per_id AS SELECT id, COUNT(*) AS n FROM rides GROUP BY id;
INSERT INTO rides VALUES (1, 20);
DROP STREAM IF EXISTS nothing;
INSERT INTO rides VALUES (1, 20);
ASSERT VALUES per_id (id, n) VALUES (1, 1);
ASSERT VALUES per_id (id, n) VALUES (1, 2);
"""


@pytest.mark.spark
def test_sql_verdicts(folder: Path, spark: SparkSession, tmp_path: Path) -> None:
    results = [run_one(c, spark, tmp_path) for c in read_sql_folder(folder / "sql")]
    assert [(r.name, r.verdict.result) for r in results] == [
        ("a ride is copied", "passed"),
        ("a wrong value", "failed"),
        ("a wrong value is expected", "passed"),
        ("an error is expected", "passed"),
        ("an error is expected and does not come", "failed"),
        ("state goes on", "passed"),
    ], [r.verdict.reason for r in results]


def test_statements_of_a_text() -> None:
    assert statements_of("SELECT ';' -- ; no\n FROM `a;b`; /* ; */ SET 'a'='b';") == [
        "SELECT ';' \n FROM `a;b`;",
        "SET 'a'='b';",
    ]


# ---------------------------------------------------------------- ksqlDB's cases

SHARED = Path(__file__).parents[2].parent / "shared" / "qtt"
SAMPLE = ("project-filter", "count", "literals", "key-schemas")


@pytest.mark.spark
def test_sample(spark: SparkSession, tmp_path: Path) -> None:
    if not SHARED.is_dir():
        pytest.skip(f"ksqlDB's own cases are not at {SHARED}")
    cases = [c for c in find_cases(SHARED) if c.file in SAMPLE]
    results: list[Result] = [run_one(c, spark, tmp_path) for c in cases[::3]]
    assert results and not [r for r in results if r.mutant_passed]
    crashes = [r.verdict.reason for r in results if r.verdict.reason.startswith("crash")]
    assert not crashes
    assert sum(r.verdict.result == "passed" for r in results) >= len(results) // 4
