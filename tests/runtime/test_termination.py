"""The end of a service: what is deleted, what stays, and that the next start begins with nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import ConfigProblem, EngineProblem
from ksqlpy.runtime import Engine
from ksqlpy.runtime.termination import generated_topics, patterns_of
from ksqlpy.testing.memory import MemoryEngine
from tests.support.waiting import count, until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATEMENTS = """
CREATE STREAM rides (city STRING KEY, id INT) WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM far WITH (KAFKA_TOPIC = 'rides_far') AS SELECT * FROM rides WHERE id > 1;
CREATE TABLE counts WITH (KAFKA_TOPIC = 'counts') AS SELECT city, COUNT(*) AS n FROM rides GROUP BY city;
"""


@pytest.mark.parametrize(
    ("patterns", "topics"),
    [
        ([], []),
        (["counts"], ["counts"]),
        (["count"], []),
        (["rides.*", "none"], ["rides_far"]),
        ([".*"], ["counts", "rides_far"]),
        (["_ksqlpy.*", "__.*"], []),
    ],
)
def test_only_topics_of_queries_are_deleted(patterns: list[str], topics: list[str]) -> None:
    engine = MemoryEngine(None)  # type: ignore[arg-type]  # no session: Spark runs nothing
    for statement in STATEMENTS.strip().split("\n"):
        engine.execute(statement)
    assert generated_topics(engine.catalog, patterns_of(patterns)) == topics


@pytest.mark.parametrize("pattern", ["(", "*", "a{2", "[", "(?P<x"])
def test_patterns(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error:
        with pytest.raises(ConfigProblem) as caught:
            patterns_of(["fine", pattern])
        assert (caught.value.code, caught.value.error_code) == ("bad-request", 40000)


@pytest.mark.kafka
@pytest.mark.spark
def test_the_next_start_begins_with_nothing(spark: SparkSession, fresh_broker: EmbeddedKafka, tmp_path: Path) -> None:
    settings = {
        "bootstrap.servers": fresh_broker.bootstrap,
        "ksql.service.id": "ended_",
        "ksqlpy.data.dir": str(tmp_path / "data"),
        "ksqlpy.warm.up": "false",
    }
    engine = Engine(Config.of(settings))
    engine.start()
    try:
        engine.execute(STATEMENTS, {"auto.offset.reset": "earliest"})
        engine.execute("INSERT INTO rides VALUES ('Oslo', 2);")
        assert until(lambda: count(engine, "counts") == 1 == count(engine, "rides_far"))
        # Brokers that do not answer leave the service as it is, or half ended: it is asked again.
        deletes = engine.kafka.delete_topics

        def fail(names: object) -> None:
            raise EngineProblem("topic-not-deleted", "the brokers do not answer")

        engine.kafka.delete_topics = fail  # type: ignore[assignment, method-assign]  # a broker that is away
        with pytest.raises(EngineProblem):
            engine.terminate(["counts"])
        assert engine.fatal() is None
        engine.kafka.delete_topics = deletes  # type: ignore[method-assign]  # the broker is back
        assert engine.terminate(["counts"]) == ["counts"]
        problem = engine.fatal()
        assert problem is not None
        assert (problem.code, problem.exit_code) == ("service-terminated", 0)
        assert {t for t in engine.kafka.topics() if not t.startswith("__")} <= {
            "rides",
            "rides_far",
            engine.topics.dead_letters,
        }
    finally:
        engine.stop()
    again = Engine(Config.of(settings))
    again.start()
    try:
        assert (dict(again.catalog.sources), dict(again.catalog.queries)) == ({}, {})
        again.execute(STATEMENTS, {"auto.offset.reset": "earliest"})
        assert until(lambda: count(again, "counts") == 1)
    finally:
        again.stop()
