"""Functions in Python in the catalog: what a start reads of the command log is what was, and backups have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ksqlpy.analysis.functions import analyze_function
from ksqlpy.backup.definitions import definitions
from ksqlpy.catalog import Catalog
from ksqlpy.config import Config
from ksqlpy.errors import KsqlError
from ksqlpy.plan.calls import definitions_of
from ksqlpy.runtime.commandlog import FORMAT_VERSION, Entry
from ksqlpy.runtime.replay import replayed
from ksqlpy.sql import parse
from ksqlpy.testing.memory import MemoryEngine
from ksqlpy.udfs.definition import Definition
from ksqlpy.udfs.statement import create_statement

RIDES = "CREATE STREAM rides (id INT KEY, fare DOUBLE) WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);"
PAID = "CREATE STREAM paid AS SELECT id, net(fare) AS net FROM rides;"
NET = "FUNCTION net(fare DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON"


class Logged:
    """An engine, and the entries that it writes; nothing is run."""

    def __init__(self) -> None:
        self.engine = MemoryEngine(None)  # type: ignore[arg-type]  # no session: Spark runs nothing
        self.entries: list[Entry] = []
        log = self.engine.brokers.log
        append = log.append

        def keep(entry: Mapping[str, Any]) -> int:
            self.entries.append(Entry(len(self.entries), log.check_size(entry)))
            return append(entry)

        log.append = keep  # type: ignore[method-assign]  # the log of the memory engine keeps nothing

    def run(self, sql: str) -> None:
        self.engine.execute(sql, {"auto.offset.reset": "earliest"})


@pytest.fixture
def logged() -> Logged:
    return Logged()


def test_a_start_reads_what_was(logged: Logged) -> None:
    logged.run(f"{RIDES} CREATE {NET} AS $$ return fare / 1.2 $$;")
    logged.run("CREATE FUNCTION gone(x DOUBLE) RETURNS BIGINT LANGUAGE PYTHON AS 'math:floor';")
    logged.run(f"{PAID} CREATE STREAM other AS SELECT id, fare FROM rides;")
    logged.run("INSERT INTO paid SELECT id, net(fare) * 2 AS net FROM rides; DROP FUNCTION gone;")
    service = logged.engine.catalog_service
    old = {query_id: service._plans[query_id] for query_id in service.catalog.queries}
    logged.run(f"CREATE OR REPLACE {NET} AS $$ return fare / 1.1 $$;")
    found = replayed(logged.entries, Config.of({}))
    assert not found.left_out
    assert found.catalog == service.catalog
    assert found.plans == service._plans
    assert list(found.catalog.functions) == ["NET"]
    changed = {query_id for query_id, kept in found.plans.items() if kept != old[query_id]}
    assert changed == {q for q in found.plans if not q.startswith("CSAS_OTHER")} and len(changed) == 2
    for query_id in changed:
        assert "1.1" in definitions_of(found.plans[query_id].plan)["NET"].body
        assert len(found.catalog.queries[query_id].upgraded_from) == 1
        # The query that runs has the plan, too.
        assert logged.engine.specs[query_id].plan == found.plans[query_id].plan


def test_only_queries_that_call_it_start_again(logged: Logged) -> None:
    logged.run(f"{RIDES} CREATE {NET} AS $$ return fare / 1.2 $$;")
    logged.run(f"{PAID} CREATE STREAM other AS SELECT id, fare FROM rides;")
    logged.run("CREATE STREAM waits AS SELECT id, net(fare) AS net FROM rides;")
    paused = next(q for q in logged.engine.catalog.queries if "WAITS" in q)
    logged.run(f"PAUSE {paused};")
    logged.engine.specs.clear()
    logged.run(f"CREATE OR REPLACE {NET} AS $$ return fare / 1.1 $$;")
    assert [q.split("_")[1] for q in logged.engine.specs] == ["PAID"]
    logged.run(f"RESUME {paused};")
    [definition] = definitions_of(logged.engine.specs[paused].plan).values()
    assert "1.1" in definition.body


def test_a_log_without_functions_is_read_as_before(logged: Logged) -> None:
    logged.run(f"{RIDES} CREATE STREAM paid AS SELECT id, ROUND(fare) AS net FROM rides;")
    assert all(b"python" not in (e.value or b"") and FORMAT_VERSION == 1 for e in logged.entries)
    assert replayed(logged.entries, Config.of({})).catalog == logged.engine.catalog


def test_functions_in_python_are_off_unless_switched_on(logged: Logged) -> None:
    config = logged.engine.brokers.config
    logged.run(f"{RIDES} CREATE {NET} AS $$ return fare / 1.2 $$;")
    logged.engine.brokers.config = Config({**config.values, "ksqlpy.functions.python.enabled": "false"})
    with pytest.raises(KsqlError, match="switched off") as refused:
        logged.run(f"CREATE OR REPLACE {NET} AS $$ return fare $$;")
    assert refused.value.code == "functions-off"
    assert "ksqlpy.functions.python.enabled = true" in (refused.value.hint or "")
    # What is there works, and may go.
    logged.run(f"{PAID} DROP STREAM paid; DROP FUNCTION net;")


def test_no_session_switches_them_on(logged: Logged) -> None:
    with pytest.raises(KsqlError) as refused:
        logged.run("SET 'ksqlpy.functions.python.enabled' = 'true';")
    assert refused.value.code in ("unknown-property", "fixed-property", "not-settable")


STATEMENTS = [
    f"CREATE {NET} AS $$ return fare / 1.2 $$;",
    "CREATE FUNCTION f(size INT, `Of` ARRAY<STRUCT<a INT>>) RETURNS DECIMAL(9, 2) LANGUAGE PYTHON NOT DETERMINISTIC"
    " WITH (ON_ERROR = 'stop', TIMEOUT = '3 minutes') AS 'shop.prices:f';".replace("size", "`SIZE`"),
    "CREATE AGGREGATE FUNCTION middle(x DOUBLE) RETURNS DOUBLE STATE ARRAY<DOUBLE> LANGUAGE PYTHON AS $$\n"
    "class middle:\n    def init(self): return []\n    def add(self, s, x): return [*s, x]\n"
    "    def undo(self, s, x): s.remove(x); return s\n    def result(self, s): return sorted(s)[len(s) // 2]\n$$;",
    "CREATE TABLE FUNCTION words(line STRING) RETURNS STRING LANGUAGE PYTHON AS $$ yield from line.split() $$;",
]


def made(sql: str) -> Definition:
    [parsed] = parse(sql)
    return analyze_function(parsed, Catalog())


@pytest.mark.parametrize("sql", STATEMENTS, ids=[s[:30] for s in STATEMENTS])
def test_a_definition_is_its_statement(sql: str) -> None:
    assert made(create_statement(made(sql))) == made(sql)
    assert Definition.from_json(made(sql).to_json()) == made(sql)


def test_a_backup_has_functions_ahead_of_what_calls_them(logged: Logged) -> None:
    logged.run(f"{RIDES} CREATE {NET} AS $$ return fare / 1.2 $$;")
    logged.run(PAID)
    text = definitions(logged.engine.catalog, "default_", 3)
    again = Logged()
    again.run(text)
    assert again.engine.catalog.functions == logged.engine.catalog.functions
    assert set(again.engine.catalog.sources) == {"RIDES", "PAID"}
