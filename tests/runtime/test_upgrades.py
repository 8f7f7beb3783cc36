"""OR REPLACE, INSERT INTO … SELECT and types on a real broker: state and offsets stay, also through a restart."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from ksqlpy.spark.checkpoint import Checkpoint
from tests.support.waiting import messages, until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

EARLIEST = {"auto.offset.reset": "earliest"}
START = """
CREATE TYPE distance AS INT;
CREATE STREAM rides (id INT KEY, km distance) WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM trams (id INT KEY, km distance) WITH (KAFKA_TOPIC='trams', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM far AS SELECT id, km FROM rides;
INSERT INTO far WITH (QUERY_ID='by_tram') SELECT id, km FROM trams;
CREATE TABLE counted AS SELECT id, COUNT(*) AS n FROM rides GROUP BY id;
"""


def values(engine: Engine, topic: str, count: int, deadline: float = 60) -> list[bytes | None]:
    """The values of a topic once there are so many; what there is if they do not come in time."""
    consumer = engine.kafka.reader()
    consumer.assign([TopicPartition(topic, 0, 0)])
    return [m.value() for m in messages(consumer, count, deadline)]


def test_upgrade_keeps_state_and_offsets_through_a_restart(
    spark: SparkSession, fresh_broker: EmbeddedKafka, tmp_path: Path
) -> None:
    config = Config.of(
        {
            "bootstrap.servers": fresh_broker.bootstrap,
            "ksqlpy.warm.up": "false",
            "ksqlpy.data.dir": str(tmp_path),
            "commit.interval.ms": 1000,
        }
    )
    first = Engine(config)
    first.start()
    try:
        first.execute(START, EARLIEST)
        first.execute("INSERT INTO rides VALUES (1, 5); INSERT INTO trams VALUES (2, 7);")
        assert sorted(values(first, "FAR", 2)) == [b'{"KM":5}', b'{"KM":7}']
        assert values(first, "COUNTED", 1) == [b'{"N":1}']
        ids = list(first.catalog.queries)
        first.execute(
            "CREATE OR REPLACE TABLE counted AS SELECT id, COUNT(*) AS n, AS_VALUE(id) AS i FROM rides GROUP BY id;"
        )
        first.execute("INSERT INTO rides VALUES (1, 6);")
        assert values(first, "COUNTED", 2) == [b'{"N":1}', b'{"N":2,"I":1}']
        assert list(first.catalog.queries) == ids
        before = first.catalog
    finally:
        first.stop()
    second = Engine(config)
    second.start()
    try:
        assert second.catalog == before
        second.execute("INSERT INTO rides VALUES (1, 8); INSERT INTO trams VALUES (2, 9);")
        assert values(second, "COUNTED", 3)[2:] == [b'{"N":3,"I":1}']
        assert sorted(values(second, "FAR", 5)) == [b'{"KM":5}', b'{"KM":6}', b'{"KM":7}', b'{"KM":8}', b'{"KM":9}']
        assert until(lambda: {q["state"] for q in second.execute("SHOW QUERIES;")[0]["queries"]} == {"RUNNING"})
        second.execute("DROP STREAM far CASCADE; DROP STREAM rides CASCADE; DROP TYPE distance;")
        assert not second.catalog.queries
        assert list(second.catalog.sources) == ["TRAMS"]
    finally:
        second.stop()


def test_the_filter_of_a_table_starts_over_through_a_restart(
    spark: SparkSession, fresh_broker: EmbeddedKafka, tmp_path: Path
) -> None:
    config = Config.of(
        {
            "bootstrap.servers": fresh_broker.bootstrap,
            "ksqlpy.warm.up": "false",
            "ksqlpy.data.dir": str(tmp_path),
            "commit.interval.ms": 1000,
        }
    )
    first = Engine(config)
    first.start()
    try:
        first.execute(
            """
            CREATE TABLE stock (id INT PRIMARY KEY, n INT)
              WITH (KAFKA_TOPIC='stock', VALUE_FORMAT='JSON', PARTITIONS=1);
            CREATE TABLE low AS SELECT * FROM stock WHERE n < 5;
            """,
            EARLIEST,
        )
        first.execute(
            "INSERT INTO stock VALUES (1, 2); INSERT INTO stock VALUES (1, 9); INSERT INTO stock VALUES (1, 3);"
        )
        seen: list[bytes | None] = [b'{"N":2}', None, b'{"N":3}']
        assert values(first, "LOW", 3) == seen
        [answer] = first.execute("CREATE OR REPLACE TABLE low AS SELECT * FROM stock WHERE n > 5;")
        assert "starts over" in answer["warnings"][0]["message"]
        # What the old filter had let through is not remembered: no tombstone for the 4.
        first.execute(
            "INSERT INTO stock VALUES (1, 4); INSERT INTO stock VALUES (1, 7); INSERT INTO stock VALUES (1, 1);"
        )
        seen += [b'{"N":7}', None]
        assert values(first, "LOW", 5) == seen
    finally:
        first.stop()
    second = Engine(config)
    second.start()
    try:
        second.execute("INSERT INTO stock VALUES (1, 2); INSERT INTO stock VALUES (1, 8);")
        seen.append(b'{"N":8}')
        assert values(second, "LOW", 6) == seen
        second.execute("CREATE OR REPLACE TABLE low AS SELECT * FROM stock;")
        second.execute("INSERT INTO stock VALUES (1, 2);")
        seen.append(b'{"N":2}')
        assert values(second, "LOW", 7) == seen
        assert values(second, "LOW", 8, deadline=2) == seen
    finally:
        second.stop()


def test_a_kill_between_the_last_batch_of_a_plan_and_its_end_loses_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """The batch had read on to 9, but took the records below 5 only: the next one begins there, whoever starts it."""
    checkpoint = Checkpoint(spark, str(tmp_path / "q"))
    checkpoint.write("spark/offsets/3", 'v1\n{}\n{"t":{"0":9,"1":2}}')
    checkpoint.write("spark/commits/3", 'v1\n{"nextBatchWatermarkMs":0}')
    checkpoint.begin_last({"t": {"0": 5, "1": 4}})
    again = Checkpoint(spark, str(tmp_path / "q"))
    again.end_last()
    assert again.offsets(3) == {"t": {"0": 5, "1": 2}}
    again.write("spark/offsets/3", 'v1\n{}\n{"t":{"0":9,"1":2}}')
    again.end_last()  # done once
    assert again.offsets(3) == {"t": {"0": 9, "1": 2}}


def test_a_kill_while_a_state_starts_over_keeps_offsets_and_notes(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = Checkpoint(spark, str(tmp_path / "q"))
    checkpoint.write("spark/offsets/3", 'v1\n{}\n{"t":{"0":9}}')
    checkpoint.write("spark/commits/3", 'v1\n{"nextBatchWatermarkMs":0}')
    for batch in (2, 3):
        checkpoint.note(batch, {"sink": {"0": 10 * batch}})
    assert checkpoint.begin_era(0) == {}
    assert checkpoint.last_commit == 3
    note = {"era": 1, "offsets": {"t": {"0": 9}}, "ends": {"sink": {"0": 30}}, "done": False}
    checkpoint._write("era.json", note)  # as it is when the kill comes
    for _ in range(2):
        again = Checkpoint(spark, str(tmp_path / "q"))
        assert again.begin_era(1) == {"t": {"0": 9}}
        assert again.last_commit is None and again.ends_before(-1) == {"sink": {"0": 30}}
