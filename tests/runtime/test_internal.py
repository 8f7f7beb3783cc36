"""Internal topics: definitions of a command log that an earlier version wrote, and what reading them needs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from ksqlpy.catalog import Column, KeySpec, Source, ValueSpec
from ksqlpy.config import Config
from ksqlpy.errors import KsqlError
from ksqlpy.runtime.context import Sandbox
from ksqlpy.runtime.queries import Queries
from ksqlpy.runtime.statements.select import check_push
from ksqlpy.sql import parse
from ksqlpy.testing.memory import MemoryEngine
from ksqlpy.topicnames import is_internal
from ksqlpy.types import INTEGER, STRING

LOG = "_ksqlpy-default_command_log"
COLUMNS = (Column("K", STRING, True), Column("V", INTEGER))
FORMATS = (KeySpec("KAFKA"), ValueSpec("JSON"))
OLD_STREAM = Source("LEAK", "STREAM", LOG, COLUMNS, *FORMATS, "CREATE STREAM leak …;")
OLD_TABLE = Source("GONE", "TABLE", "__consumer_offsets", COLUMNS, *FORMATS, "CREATE TABLE gone …;")
RIDES = "CREATE STREAM rides (k STRING KEY, v INT) WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);"


def engine(**properties: str) -> MemoryEngine:
    """An engine whose log has a stream and a table over internal topics."""
    made = MemoryEngine(None)  # type: ignore[arg-type]  # no session: Spark runs nothing
    made.brokers.config = Config.of(properties)
    made.execute(RIDES)
    for source in (OLD_STREAM, OLD_TABLE):
        made.kafka.create_topic(source.topic, 1, None, {})
        made.catalog_service.catalog = made.catalog.with_source(source)
    return made


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO leak VALUES ('k', 1);",
        "INSERT INTO leak SELECT * FROM rides;",
        "DELETE FROM gone WHERE k = 'k';",
        "ALTER STREAM leak ADD COLUMN w INT;",
        "DROP STREAM leak DELETE TOPIC;",
        "DROP TABLE gone DELETE TOPIC CASCADE;",
        "CREATE STREAM copy AS SELECT * FROM leak;",
        "CREATE OR REPLACE STREAM leak (k STRING KEY, v INT, w INT) WITH (KAFKA_TOPIC='" + LOG + "', FORMAT='JSON');",
    ],
)
def test_a_definition_of_an_old_log_is_neither_written_nor_read(sql: str) -> None:
    old = engine()
    before = old.catalog, old.broker.records()
    with pytest.raises(KsqlError) as refused:
        old.execute(sql)
    assert (refused.value.code, refused.value.error_code) == ("internal-topic", 40001)
    assert refused.value.span is not None
    assert (old.catalog, old.broker.records()) == before


def test_a_definition_of_an_old_log_can_be_dropped() -> None:
    old = engine()
    old.execute("DROP STREAM leak; DROP TABLE gone;")
    assert set(old.catalog.sources) == {"RIDES"}
    assert {LOG, "__consumer_offsets"} <= set(old.kafka.topics())


def test_a_push_query_over_it_is_refused() -> None:
    old = engine()
    with pytest.raises(KsqlError, match=f"topic {LOG} is internal and cannot be read"):
        check_push(parse("SELECT * FROM leak EMIT CHANGES;")[0], Sandbox(old, old.catalog, {}))


def test_reading_needs_the_property_and_create_source() -> None:
    reading = engine(**{"ksqlpy.internal.topics.read": "true"})
    with_ = f"(v STRING) WITH (KAFKA_TOPIC='{LOG}', VALUE_FORMAT='KAFKA');"
    with pytest.raises(KsqlError, match="can only be read"):
        reading.execute(f"CREATE STREAM log {with_}")
    reading.execute(f"CREATE SOURCE STREAM log {with_} CREATE STREAM copy AS SELECT * FROM log;")
    with pytest.raises(KsqlError, match="can only be read"):
        reading.execute("INSERT INTO log VALUES ('x');")
    with pytest.raises(KsqlError, match="its topic cannot be deleted"):
        reading.execute("DROP STREAM log DELETE TOPIC CASCADE;")


@pytest.mark.parametrize(("sink", "source", "late"), [(LOG, "rides", None), ("s", LOG, None), ("s", "rides", LOG)])
def test_a_query_of_an_old_log_does_not_start(sink: str, source: str, late: str | None) -> None:
    """No session is needed: the query is refused ahead of it."""
    plan: Any = SimpleNamespace(topics=(source,), late_topic=late)
    queries = Queries(MagicMock(), "local[1]", "/nowhere", lambda topic: topic != LOG)
    spec: Any = SimpleNamespace(
        id="Q", plan=plan, sink=Source("S", "STREAM", sink, COLUMNS, *FORMATS, ""), partitions={source: 1},
        shuffle_partitions=1, commit_ms=1000, retry=None, exactly_once=True, checkpoint="/nowhere/Q", before=None
    )  # fmt: skip
    running = queries.start(spec)
    queries.start_refused()
    assert (running.state, running.refused) == ("ERROR", True)
    assert LOG in (running.error or "")
    assert running.failures[-1].kind == "USER"
    assert queries.get("Q") is running


def test_a_start_deletes_the_topics_of_its_own_push_queries_only() -> None:
    old = engine()
    own = "_ksqlpy-default_transient_RIDES_0123456789ab"
    others = ["_ksqlpy-default_transient_command_log", "_ksqlpy-default_transient_dead_letters", "_ksqlpy-x" + own[9:]]
    for topic in (own, *others):
        old.kafka.create_topic(topic, 1, None, {})
    old.topics.remove_transients()
    assert own not in old.kafka.topics()
    assert set(others) <= set(old.kafka.topics())


def test_what_is_internal() -> None:
    names = [
        LOG,
        "_ksqlpy-other_transient_1",
        "__consumer_offsets",
        "__x",
        "_confluent-x",
        "_schemas",
        "connect-status",
    ]
    assert all(map(is_internal, names))
    assert not any(map(is_internal, ["rides", "_rides", "_ksqlpy", "ksqlpy-rides", "connect-orders", "a__b"]))
