"""``ksqlpy test`` over small folders of statement files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from ksqlpy.testing.suite import Selection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

GOOD = """\
CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic='s', value_format='JSON', partitions=1);
=== doubled
CREATE STREAM d AS SELECT id, v * 2 AS w FROM s;
--- input s
1 {"v": 3}
--- output d
1 {"W": 6}
=== refused
CREATE STREAM d AS SELECT x FROM s;
--- error
error[unknown-column]: there is no column X
  --> line 1, column 27
   |
 1 | CREATE STREAM d AS SELECT x FROM s;
   |                           ^
 = hint: the columns are ID, V
=== wrong, as is known
CREATE STREAM d AS SELECT id, v FROM s;
--- input s
1 {"v": 3}
--- output d
1 {"V": 4}
--- known fault three is four
"""
BAD = """\
=== counted
CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic='s', value_format='JSON', partitions=1);
CREATE TABLE c AS SELECT id, COUNT(*) AS n FROM s GROUP BY id;
--- input s
1 {"v": 3}
1 {"v": 4}
--- output c
1 {"N": 1}
1 {"N": 3}
=== no fault any more
CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic='s', value_format='JSON', partitions=1);
CREATE STREAM d AS SELECT * FROM s;
--- input s
1 {"v": 3}
--- output d
1 {"V": 3}
--- known fault it was one
"""
OPEN = """\
=== to be answered
CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic='s', value_format='JSON', partitions=1);
CREATE STREAM d AS SELECT id, v + 1 AS w FROM s WHERE v > 3;
--- input s
1 {"v": 3}
2 {"v": 4}
--- output d
"""

PROJECT = Path(__file__).parents[2] / "examples" / "project"

Run = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deeper").mkdir()
    (tmp_path / "good.test").write_text(GOOD)
    (tmp_path / "deeper" / "bad.test").write_text(BAD)
    (tmp_path / "deeper" / "broken.test").write_text("=== x\nCREATE;\n--- outputs\n")
    return tmp_path


def test_a_folder(folder: Path, ksqlpy: Run, spark: SparkSession) -> None:
    done = ksqlpy("test", folder, "--junit", folder / "out.xml")
    assert done.code == 1
    bad = folder / "deeper" / "bad.test"
    lines = done.out.splitlines()
    assert lines[0] == f"FAILED {folder / 'deeper' / 'broken.test'}"
    assert lines[1].startswith(f"    {folder / 'deeper' / 'broken.test'}:3: there is no section 'outputs'")
    assert f"FAILED {bad}: counted\n    {bad}:1: case 'counted'\n    {bad}:7: output c differs" in done.out
    assert '      - 1 {"N": 3}    [bad.test:9]\n      + 1 {"N":2}\n' in done.out
    assert f"    {bad}:17: case 'no fault any more' passes: take its known fault out" in done.out
    assert f"ok     {folder / 'good.test'}: doubled" in lines
    assert f"ok     {folder / 'good.test'}: refused" in lines
    assert f"fault  {folder / 'good.test'}: wrong, as is known (three is four)" in lines
    assert lines[-4:-1] == [
        f"failed: {folder / 'deeper' / 'broken.test'}",
        f"failed: {bad}: counted",
        f"failed: {bad}: no fault any more",
    ]
    assert lines[-1].startswith("2 passed, 3 failed, 1 known fault in ")
    suite = ElementTree.parse(folder / "out.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("6", "3", "1")
    [counted] = [c for c in suite if c.get("name") == "counted"]
    assert '+ 1 {"N":2}' in (counted[0].text or "")


def test_some_cases(folder: Path, ksqlpy: Run, spark: SparkSession) -> None:
    done = ksqlpy("test", folder / "good.test", "-k", "good and not (refused or KNOWN)", "--jobs", 1)
    assert done.code == 0
    assert done.out.splitlines()[0] == f"ok     {folder / 'good.test'}: doubled"
    assert done.out.splitlines()[-1].startswith("1 passed, 2 left out in ")


def test_complete(tmp_path: Path, ksqlpy: Run, spark: SparkSession) -> None:
    file = tmp_path / "open.test"
    file.write_text(OPEN)
    assert ksqlpy("test", file).code == 1
    done = ksqlpy("test", tmp_path, "--complete")
    assert (done.code, done.out) == (0, f"{file}: 1 answers written: read them before you keep them\n")
    assert file.read_text() == f'{OPEN}2 {{"W":5}}\n'
    assert ksqlpy("test", file).code == 0
    assert ksqlpy("test", file, "--complete").out == "no section is empty\n"


def example(*arguments: object) -> list[object]:
    return ["test", PROJECT / "tests", "--project", PROJECT / "sql", *arguments]


def test_a_project(ksqlpy: Run, spark: SparkSession) -> None:
    done = ksqlpy(*example("--vars", PROJECT / "dev.vars"))
    assert (done.code, done.out.splitlines()[-1].partition(" in ")[0]) == (0, "2 passed")
    done = ksqlpy(*example("--vars", PROJECT / "dev.vars", "-d", "least=3.00", "-k", "least"))
    assert done.code == 1 and '      - 3 {"CUSTOMER":"bob","AMOUNT":1.00}' in done.out


@pytest.mark.kafka
def test_a_project_on_kafka(ksqlpy: Run, spark: SparkSession) -> None:
    """Two cases at once: each has its own types and queries of the project."""
    done = ksqlpy(*example("--vars", PROJECT / "dev.vars", "--kafka"))
    assert (done.code, done.out.splitlines()[-1].partition(" in ")[0]) == (0, "2 passed")


def test_a_case_of_a_project_needs_no_statements(tmp_path: Path, ksqlpy: Run, spark: SparkSession) -> None:
    made = "CREATE STREAM d AS SELECT * FROM s;"
    (tmp_path / "b.sql").write_text(f"SET 'ksql.timestamp.throw.on.invalid'='true';\n{made}")
    (tmp_path / "a.sql").write_text(GOOD.splitlines()[0])
    file = tmp_path / "a.test"
    file.write_text("""=== of the project
--- input s
1 {"v": 3}
--- output d
1 {"V": 3}
=== of its own, too
CREATE STREAM e AS SELECT id, v + 1 AS w FROM d;
--- input s
1 {"v": 3}
--- output e
""")
    both = ("--project", tmp_path / "a.sql", "--project", tmp_path / "b.sql")
    assert ksqlpy("test", file, "--complete", *both).code == 0
    assert file.read_text().endswith('--- output e\n1 {"W":4}\n')
    assert ksqlpy("test", file, *both).code == 0
    assert "the case of the project has no statements" in ksqlpy("test", file).out


def test_a_project_that_is_refused(ksqlpy: Run) -> None:
    done = ksqlpy(*example("-d", "stage=dev"))
    assert (done.code, done.out) == (1, "")
    assert "results.sql:8:17: error[unknown-variable]: there is no variable least" in done.err
    assert " = hint: least has no value: -d least=…, --vars FILE, or DEFINE in the file" in done.err
    done = ksqlpy("test", PROJECT / "tests", "--vars", PROJECT / "dev.vars")
    assert done.code == 2 and "name them with --project" in done.err


@pytest.mark.kafka
def test_on_kafka(folder: Path, ksqlpy: Run, spark: SparkSession) -> None:
    done = ksqlpy("test", folder, "-k", "doubled or counted", "--kafka")
    assert done.code == 1
    assert done.out.splitlines()[-1].startswith("1 passed, 2 failed, 3 left out in ")
    assert '      + 1 {"N":2}\n' in done.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("nowhere",), "there is no file nowhere"), ((".", "-k", "a b"), "'a b' is no choice of cases")],
)
def test_what_is_refused(
    arguments: tuple[str, ...], said: str, ksqlpy: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = ksqlpy("test", *arguments)
    assert done.code == 1
    assert said in done.err


@pytest.mark.parametrize(
    ("expression", "chosen"),
    [
        ("joins", "ab"),
        ("LEFT or outer", "b"),
        ("not joins", "c"),
        ("joins and not left", "a"),
        ("not (joins and left) or windows", "ac"),
    ],
)
def test_selection(expression: str, chosen: str) -> None:
    names = {"a": "joins: inner", "b": "joins: left", "c": "windows: hopping"}
    assert "".join(k for k, name in names.items() if Selection(expression)(name)) == chosen
