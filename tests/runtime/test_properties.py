"""A property is one entry of the table; what changes results stands in the plan, and stays what it was."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ksqlpy.analysis import typed as t
from ksqlpy.config import PROPERTIES, Config
from ksqlpy.errors import ConfigProblem, KsqlError
from ksqlpy.functions import FUNCTIONS
from ksqlpy.plan import Plan, stored
from ksqlpy.project.offline import Offline, check_statement
from ksqlpy.shell.help import page
from ksqlpy.sql import parse
from ksqlpy.testing.memory import EARLIEST, MemoryEngine, run_query
from ksqlpy.testing.records import Record
from tests.runtime.joined import JOINED, LIMIT

PAGE = Path(__file__).parents[2] / "docs" / "internals" / "adding.md"

RIDES = (
    "CREATE STREAM rides (k STRING KEY, city STRING, moment STRING) WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON',"
    " KEY_FORMAT='KAFKA', PARTITIONS=1, TIMESTAMP='moment', TIMESTAMP_FORMAT='yyyy-MM-dd');"
    "CREATE STREAM pairs (a INT KEY, b INT KEY, v INT) WITH (KAFKA_TOPIC='pairs', FORMAT='JSON', PARTITIONS=1,"
    " WRAP_SINGLE_VALUE=true);"
)


def plans(sql: str, config: Mapping[str, object], properties: Mapping[str, object] | None = None) -> list[Plan]:
    """Those that a server with this configuration makes of statements with these properties."""
    sandbox = Offline(Config.of(config)).sandbox()
    for parsed in parse(RIDES + sql):
        check_statement(parsed, sandbox, properties or {})
    return list(sandbox.plans.values())


# ---------------------------------------------------------------- one more

JOIN = "CREATE TABLE cities AS SELECT k, joined(city) AS cities FROM rides GROUP BY k;"


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one adds: an entry in the table of properties, and here a function that takes it."""
    monkeypatch.setitem(PROPERTIES, LIMIT.name, LIMIT)
    monkeypatch.setattr(FUNCTIONS, "functions", FUNCTIONS.functions)  # is put back afterwards
    FUNCTIONS.add(JOINED)


def limits(plan: Plan) -> set[int | None]:
    return {a.limit for n in plan.nodes for a in getattr(n, "aggregates", ()) if isinstance(a, t.AggregateCall)}


@pytest.mark.usefixtures("joined")
def test_one_more_property_is_set_by_server_and_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSQLPY_KSQL_FUNCTIONS_JOINED_LIMIT", "7")
    assert Config.from_environment()[LIMIT.name] == "7"
    engine = MemoryEngine(None)  # type: ignore[arg-type]  # no session: Spark runs nothing
    [shown] = engine.execute("SHOW PROPERTIES;", {LIMIT.name: "3"})
    [found] = [p for p in shown["properties"] if p["name"] == LIMIT.name]
    assert (found["value"], found["editable"], found["description"]) == ("3", True, LIMIT.help)
    with pytest.raises(ConfigProblem, match=f"^property {LIMIT.name}: '0' must be a whole number above 0$"):
        engine.execute("SHOW PROPERTIES;", {LIMIT.name: "0"})
    assert f"SET '{LIMIT.name}'" in "\n".join(page(LIMIT.name, {}, 100))


@pytest.mark.usefixtures("joined")
def test_the_plan_keeps_what_it_was_made_with() -> None:
    [free], [server], [own] = (
        plans(JOIN, {}),
        plans(JOIN, {LIMIT.name: 7}),
        plans(JOIN, {LIMIT.name: 7}, {LIMIT.name: "3"}),
    )
    assert [limits(p) for p in (free, server, own)] == [{None}, {7}, {3}]
    for plan in (free, server, own):
        assert stored.read(json.loads(stored.canonical(stored.write(plan)))) == plan


@pytest.mark.spark
@pytest.mark.usefixtures("joined")
def test_spark_runs_what_the_plan_says(spark: SparkSession, tmp_path: Path) -> None:
    engine = MemoryEngine(spark)
    engine.execute(
        "CREATE STREAM rides (k STRING KEY, city STRING) WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);"
    )
    engine.execute(JOIN, {**EARLIEST, LIMIT.name: "2"})
    for i, city in enumerate(("Oslo", "Bergen", "Tromsø")):
        engine.broker.append(Record("rides", b"a", json.dumps({"city": city}).encode(), i))
    [(_, spec)] = engine.ordered_specs()
    assert run_query(spec, engine, tmp_path, engine.broker.log["rides"]) == []
    values = [r.value for r in engine.broker.records()["CITIES"]]
    assert values[-1] == b'{"CITIES":"Oslo,Bergen"}'


# ---------------------------------------------------------------- which stand in the plan

QUERIES = (
    "CREATE TABLE a AS SELECT k, collect_list(city) AS l, collect_set(city) AS s FROM rides"
    " WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY k EMIT FINAL;",
    "CREATE STREAM b AS SELECT city, k FROM rides PARTITION BY city;",
    "CREATE STREAM c AS SELECT k, city FROM rides;",
    "CREATE STREAM d AS SELECT b, a, v FROM pairs;",
)
VALUES = (
    "true",
    "false",
    "",
    "7",
    "5000",
    "earliest",
    "latest",
    "micro-batch",
    "at_least_once",
    "read_committed",
    "late",
)


def others(name: str) -> Iterator[str]:
    """Values that are none of the default."""
    for value in VALUES:
        try:
            if PROPERTIES[name].check(value) != PROPERTIES[name].default:
                yield value
        except ValueError:
            continue


def texts(sql: str, config: Mapping[str, object]) -> list[str]:
    return [stored.canonical(stored.write(p)) for p in plans(sql, config)]


def changes(name: str, before: Mapping[str, list[str]]) -> bool:
    """Whether a server where it has another value makes another plan of a query, rather than refuses it."""
    for value in others(name):
        for sql in QUERIES:
            with contextlib.suppress(KsqlError):
                if texts(sql, {name: value}) != before[sql]:
                    return True
    return False


def test_the_page_lists_the_properties_that_plans_hold() -> None:
    before = {sql: texts(sql, {}) for sql in QUERIES}
    assert [len(plans) for plans in before.values()] == [1, 1, 1, 1]
    table = PAGE.read_text(encoding="utf-8").partition("| property | where |\n")[2].partition("\n\n")[0]
    listed = re.findall(r"^  \| `(\S+)` \| ", table, re.MULTILINE)
    assert listed == sorted(name for name in PROPERTIES if changes(name, before))
