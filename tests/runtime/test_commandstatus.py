"""What became of commands: as they were answered, and as the command log tells it later."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from ksqlpy.runtime import commandstatus
from ksqlpy.runtime.commandlog import Entry
from ksqlpy.runtime.commandstatus import CommandStatuses
from ksqlpy.testing.memory import MemoryEngine

STATEMENTS = """
CREATE STREAM rides (city STRING KEY, id INT) WITH (KAFKA_TOPIC = 'rides', FORMAT = 'JSON', PARTITIONS = 1);
CREATE TYPE place AS STRUCT<x INT>;
ALTER STREAM rides ADD COLUMN note STRING;
CREATE TABLE people (id INT PRIMARY KEY) WITH (KAFKA_TOPIC = 'people', FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM `a-b` (id INT) WITH (KAFKA_TOPIC = 'other', FORMAT = 'JSON', PARTITIONS = 1);
DROP TABLE people;
DROP TYPE place;
CREATE STREAM far AS SELECT * FROM rides WHERE id > 1;
INSERT INTO far SELECT * FROM rides WHERE id < 0;
"""

IDS = {
    "stream/`RIDES`/create",
    "type/`PLACE`/create",
    "stream/`RIDES`/alter",
    "table/`PEOPLE`/create",
    "stream/`a-b`/create",
    "table/`PEOPLE`/drop",
    "type/`PLACE`/drop",
    "stream/`FAR`/create",
}


@pytest.fixture
def logged() -> list[Entry]:
    return []


@pytest.fixture
def engine(logged: list[Entry], monkeypatch: pytest.MonkeyPatch) -> MemoryEngine:
    made = MemoryEngine(None)  # type: ignore[arg-type]  # no session: Spark runs nothing
    append = made.brokers.log.append

    def kept(entry: Mapping[str, Any]) -> int:
        logged.append(Entry(len(logged), json.dumps(entry).encode()))
        return append(entry)

    monkeypatch.setattr(made.brokers.log, "append", kept)
    for statement in STATEMENTS.strip().split("\n"):
        made.execute(statement)
    return made


def test_the_log_tells_what_was_answered(engine: MemoryEngine, logged: list[Entry]) -> None:
    told = CommandStatuses()
    told.of_log(logged)
    assert set(told.all()) == set(engine.commands.all()) == IDS
    assert set(told.all().values()) == {"SUCCESS"}
    for command_id in IDS:
        kind, _, rest = command_id.partition("/")
        name, _, action = rest.rpartition("/")
        found = told.one(kind, name, action)
        assert found is not None
        assert found["queryId"] == (engine.commands.one(kind, name, action) or {})["queryId"]


@pytest.mark.parametrize("name", ["RIDES", "`RIDES`", "rides"])
def test_names_need_no_backquotes(engine: MemoryEngine, name: str) -> None:
    assert engine.commands.one("stream", name, "create") == {
        "status": "SUCCESS",
        "message": "Stream created",
        "queryId": None,
    }
    assert engine.commands.one("table", name, "create") is None


@pytest.mark.parametrize("op", ["terminate", "pause", "resume"])
def test_queries(op: str) -> None:
    told = CommandStatuses()
    told.of_log([Entry(0, json.dumps({"op": op, "query": "CSAS_FAR_1"}).encode())])
    assert told.all() == {f"{op}/CSAS_FAR_1/execute": "SUCCESS"}
    assert told.one(op, "CSAS_FAR_1", "execute") is not None


@pytest.mark.parametrize(
    "value", [None, b"", b"{", b"[]", b"{}", b'{"op": 1}', b'{"op": "create"}', b'{"op": "insert"}']
)
def test_odd_entries_say_nothing(value: bytes | None) -> None:
    told = CommandStatuses()
    told.of_log([Entry(0, value), Entry(1, json.dumps({"op": "type", "name": "T"}).encode())])
    assert set(told.all()) == {"type/`T`/create"}


def test_old_ones_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commandstatus, "MOST", 3)
    told, status = CommandStatuses(), dict[str, Any](status="SUCCESS", message="", queryId=None)
    for number in (1, 2, 3, 1, 4):
        told.note(f"type/`T{number}`/create", status)
    assert list(told.all()) == ["type/`T3`/create", "type/`T1`/create", "type/`T4`/create"]
