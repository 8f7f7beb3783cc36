"""The table of statements: all that is known of a kind of statement stands in its entry, and a check is used once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from ksqlpy.errors import KsqlError
from ksqlpy.project.check import check_files
from ksqlpy.project.files import File
from ksqlpy.project.migrations import Migration, steps_of
from ksqlpy.project.plan import make_plan
from ksqlpy.project.state import State
from ksqlpy.runtime.statements import STATEMENTS, create, names
from ksqlpy.shell.help import topics
from ksqlpy.sql import nodes, parse, to_sql
from ksqlpy.sql.generator import KsqlGenerator
from ksqlpy.sql.statements import Statements
from ksqlpy.testing.memory import MemoryEngine, MemoryKafka
from tests.runtime.forget_types import ENTRY, ForgetTypes, printed, read

ROOT = Path(__file__).parents[2]


def engine() -> MemoryEngine:
    """Nothing is run, so that no Spark session is needed."""
    return MemoryEngine(None, number_queries=True)  # type: ignore[arg-type]


def messages(engine: MemoryEngine, sql: str) -> list[str]:
    return [e["commandStatus"]["message"] for e in engine.execute(sql, {"auto.offset.reset": "earliest"})]


def code_of(sql: str) -> tuple[str | None, str | None]:
    with pytest.raises(KsqlError) as refused:
        engine().execute(sql)
    return refused.value.code, refused.value.hint


# ---------------------------------------------------------------- one more


@pytest.fixture
def forget_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one adds: a reader, a printer, and one entry."""
    monkeypatch.setattr(Statements, "STATEMENTS", MappingProxyType({**Statements.STATEMENTS, "FORGET": "_forget"}))
    monkeypatch.setattr(Statements, "_forget", read, raising=False)
    for printers in (KsqlGenerator.PRINTERS, KsqlGenerator()._dispatch):  # the latter is made of the former, once
        monkeypatch.setitem(printers, ForgetTypes, printed)
    monkeypatch.setitem(STATEMENTS, ForgetTypes, ENTRY)


TYPES = "CREATE TYPE a AS INT; CREATE TYPE b AS STRING;"


@pytest.mark.usefixtures("forget_types")
def test_an_engine_runs_one_more_statement() -> None:
    own = engine()
    assert messages(own, f"{TYPES} FORGET TYPES; CREATE TYPE a AS BIGINT;")[2] == "A, B forgotten"
    assert {n: str(t) for n, t in own.catalog.types.items()} == {"A": "BIGINT"}
    assert to_sql(parse("forget types;")[0].node) == "FORGET TYPES"
    assert code_of("FORGET TYPES;") == ("unknown-type", None)
    assert "SHOW" in names() and "FORGET" in (code_of("RUN SCRIPT 'a.sql';")[1] or "")


@pytest.mark.usefixtures("forget_types")
def test_projects_and_migrations_know_one_more_statement(tmp_path: Path) -> None:
    file = File("one.sql", f"{TYPES} FORGET TYPES;")
    assert check_files([file]).summary() == "3 statements in 1 file: no errors"
    assert [f.error.code for f in make_plan([file], State({}, {}, {})).faults] == ["not-declarative"]
    migration = Migration(1, "one", tmp_path / "V000001__one.sql")
    migration.path.write_text(file.sql)
    assert [step.sql for _, _, step in steps_of(migration, {})][2] == "FORGET TYPES;"
    migration.path.write_text("SHOW TYPES;")
    with pytest.raises(KsqlError, match="does not hold SHOW TYPES") as refused:
        steps_of(migration, {})
    assert "FORGET" in (refused.value.hint or "")


# ---------------------------------------------------------------- who reads the table


def test_the_front_page_names_what_is_run() -> None:
    [row] = [r for r in (ROOT / "README.md").read_text(encoding="utf-8").splitlines() if r.startswith("| statements")]
    assert [n for n in names() if n not in row] == []


def test_what_is_run_has_a_page_of_help() -> None:
    shown = {type(parse(topic.example)[0].node) for topic in topics().values()}
    assert [s.name for kind, s in STATEMENTS.items() if kind not in shown and kind is not nodes.UnionAll] == []


# ---------------------------------------------------------------- what a check has found

RIDES = "CREATE STREAM rides (k STRING KEY, v INT) WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);"


def counted(monkeypatch: pytest.MonkeyPatch, name: str) -> list[Any]:
    """The calls of a function of ``create.py``."""
    calls: list[Any] = []
    done = getattr(create, name)

    def calling(*args: Any) -> Any:
        calls.append(args)
        return done(*args)

    monkeypatch.setattr(create, name, calling)
    return calls


def test_a_statement_is_analysed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    analysed = counted(monkeypatch, "analyze_create")
    messages(engine(), f"{RIDES} CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='s', FORMAT='JSON', PARTITIONS=1);")
    assert len(analysed) == 2


def test_what_depends_on_an_earlier_statement_is_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    analysed = counted(monkeypatch, "analyze_create")
    own = engine()
    messages(own, f"{RIDES} CREATE STREAM a AS SELECT * FROM rides; CREATE STREAM b AS SELECT * FROM a;")
    assert len(analysed) == 4  # the id of the query of A is known only then
    assert own.catalog.queries["CSAS_B_1"].sources == ("A",)


def test_replacing_a_query_asks_once_whether_it_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    own = engine()
    messages(own, f"{RIDES} CREATE STREAM big AS SELECT * FROM rides WHERE v > 10;")
    asked = counted(monkeypatch, "upgrade")
    [message] = messages(own, "CREATE OR REPLACE STREAM big AS SELECT * FROM rides WHERE v > 20;")
    assert (message, len(asked)) == ("Replaced query with ID CSAS_BIG_0", 1)


@pytest.mark.parametrize("meanwhile", [False, True])
def test_records_are_waited_for_ahead_of_the_turn(*, meanwhile: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    own = engine()
    own.kafka.create_topic("rides", 1, None, {})
    analysed = counted(monkeypatch, "analyze_create")

    def sampled(*args: object, **more: object) -> Sequence[tuple[bytes | None, bytes | None]]:
        assert not own.catalog_service.lock._owned()
        if meanwhile:
            own.catalog_service.make_type("other", None)
        return [(b"k", b'{"v": 1}')]

    monkeypatch.setattr(MemoryKafka, "last_records", sampled)
    [message] = messages(own, "CREATE STREAM rides WITH (KAFKA_TOPIC='rides');")
    assert message.endswith("value JSON, `V` BIGINT")
    assert len(analysed) == (2 if meanwhile else 1)
