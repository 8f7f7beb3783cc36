"""DOUBLEs in keys on a real broker: over several partitions, and in the state of queries that were made before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from pyspark.sql import SparkSession

from ksqlpy.analysis.result import TypedQuery
from ksqlpy.catalog import Column, KeySpec
from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.formats import KAFKA
from ksqlpy.plan import Plan, build_plan
from ksqlpy.runtime import Engine
from ksqlpy.runtime.statements import create
from ksqlpy.types import DOUBLE
from tests.support.waiting import enough, until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

EARLIEST = {"auto.offset.reset": "earliest"}
SOURCES = """
CREATE STREAM s (k DOUBLE KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE TABLE t (k DOUBLE PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE TABLE u (k DOUBLE PRIMARY KEY, w INT) WITH (KAFKA_TOPIC='u', VALUE_FORMAT='JSON', PARTITIONS=2);
"""
CODEC = KAFKA.codec(KeySpec(KAFKA.name, (Column("K", DOUBLE),)))
BEGIN = 1_700_000_000_000

Rows = list[tuple[str, bytes | None]]


def engine_of(broker: EmbeddedKafka, folder: Path, service: str) -> Engine:
    made = Engine(
        Config.of(
            {
                "bootstrap.servers": broker.bootstrap,
                "ksql.service.id": service,
                "ksqlpy.data.dir": str(folder),
                "ksqlpy.warm.up": "false",
                "commit.interval.ms": 1000,
            }
        )
    )
    made.start()
    return made


def send(engine: Engine, topic: str, *keys: float, at: int = BEGIN, to: int = -1) -> None:
    """Writes a record of each key, a millisecond apart; ``to``: the partition, by the key if it is -1."""
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    for i, key in enumerate(keys):
        producer.produce(topic, key=CODEC.encode((key,)), value=b'{"V": 1, "W": 1}', timestamp=at + i, partition=to)
    producer.flush()


def results(engine: Engine, topic: str) -> Rows:
    """Keys, as texts, and values of the topic, sorted by key; those of one key in their order."""
    found: Rows = []
    consumer = engine.kafka.reader()
    for partition in range(2):
        place = TopicPartition(topic, partition, 0)
        _, end = consumer.get_watermark_offsets(place)
        consumer.assign([place])
        left = end
        while left > 0:
            message = consumer.poll(1)
            if message is not None and message.error() is None:
                key = message.key()
                assert key is not None
                shown = CODEC.decode(key[:8]) if len(key) >= 8 else (key.hex(),)
                assert shown is not None
                found.append((str(shown[0]), message.value()))
                left -= 1
    consumer.close()
    return sorted(found, key=lambda row: row[0])


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    made = engine_of(broker, tmp_path_factory.mktemp("doubles"), "doubles_")
    made.execute(SOURCES)
    for topic in "stu":
        send(made, topic, 0.0, -0.0, float("nan"), -0.0, 0.0, -0.0)
    for i in range(16):  # a window closes by the time of its partition, as its own task has seen it
        send(made, "s", 1.5 + i, at=BEGIN + 600_000, to=i % 2)
    yield made
    made.stop()


# Each with the number of its shuffles, which is that of other keys, and its results.
QUERIES: dict[str, tuple[str, int, Rows]] = {
    "COUNTED": (
        "SELECT k, COUNT(*) AS n FROM s GROUP BY k HAVING COUNT(*) > 1",
        1,
        [("-0.0", b'{"N":2}'), ("-0.0", b'{"N":3}'), ("0.0", b'{"N":2}')],
    ),
    "WINDOWED": (
        "SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY k HAVING COUNT(*) > 1",
        2,
        [("-0.0", b'{"N":2}'), ("-0.0", b'{"N":3}'), ("0.0", b'{"N":2}')],
    ),
    "FINAL": (
        "SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY k EMIT FINAL",
        2,
        [("-0.0", b'{"N":3}'), ("0.0", b'{"N":2}'), ("nan", b'{"N":1}')],
    ),
    "JOINED": (
        "SELECT t.k AS k, v, w FROM t JOIN u ON t.k = u.k WHERE v = w",
        1,
        [(k, b'{"V":1,"W":1}') for k, n in (("-0.0", 5), ("0.0", 3), ("nan", 1)) for _ in range(n)],
    ),
    "REGROUPED": (
        "SELECT v, COUNT(*) AS n FROM t GROUP BY v HAVING COUNT(*) > 2",
        2,
        [("00000001", b'{"N":3}')] * 4,
    ),
}


@pytest.mark.parametrize("name", QUERIES)
def test_keys_come_to_their_tasks_by_as_many_shuffles_as_others(engine: Engine, name: str) -> None:
    query, shuffles, expected = QUERIES[name]
    made = engine.execute(f"CREATE TABLE {name} AS {query};", EARLIEST)
    assert enough(lambda: results(engine, name), len(expected)) == expected
    running: Any = engine.queries.get(made[0]["commandStatus"]["queryId"])
    plan = running.handle.query._jsq.streamingQuery().lastExecution().executedPlan().toString()
    assert plan.count("Exchange ") == shuffles, plan
    engine.execute(f"DROP TABLE {name};")


def test_a_query_of_before_goes_on_by_the_rule_of_its_state(
    spark: SparkSession, broker: EmbeddedKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an earlier version made it: its stored plan says nothing of bits, and its state is by Spark's keys."""

    def build_before(query: TypedQuery) -> Plan:
        return replace(build_plan(query), by_bits=False)

    old: Rows = [("0.0", b'{"N":1}'), ("0.0", b'{"N":2}')]
    first = engine_of(broker, tmp_path, "before_")
    try:
        first.execute(
            "CREATE STREAM s (k DOUBLE KEY, v INT) WITH (KAFKA_TOPIC='before', VALUE_FORMAT='JSON', PARTITIONS=2);"
        )
        with monkeypatch.context() as earlier:
            earlier.setattr(create, "build_plan", build_before)
            first.execute("CREATE TABLE old AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;", EARLIEST)
        send(first, "before", -0.0, 0.0)
        assert enough(lambda: results(first, "OLD"), 2) == old
    finally:
        first.stop()
    second = engine_of(broker, tmp_path, "before_")
    try:
        second.execute("CREATE TABLE new AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;", EARLIEST)
        assert enough(lambda: results(second, "NEW"), 2) == [("-0.0", b'{"N":1}'), ("0.0", b'{"N":1}')]
        send(second, "before", -0.0, at=BEGIN + 10)
        old.append(("0.0", b'{"N":3}'))
        assert enough(lambda: results(second, "OLD"), 3) == old
        second.execute(
            "CREATE OR REPLACE TABLE old AS SELECT k, COUNT(*) AS n, AS_VALUE(k) AS w FROM s WHERE v > 0 GROUP BY k;"
        )
        send(second, "before", -0.0, at=BEGIN + 20)
        old.append(("0.0", b'{"N":4,"W":0.0}'))
        assert enough(lambda: results(second, "OLD"), 4) == old
        assert until(lambda: ("-0.0", b'{"N":3}') in results(second, "NEW"))
    finally:
        second.stop()
