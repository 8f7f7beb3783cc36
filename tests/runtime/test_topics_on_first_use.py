"""A broker that makes topics on first use, as the server's own does: producers of others make them, we do not."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.errors import KsqlError
from ksqlpy.runtime import Engine
from tests.support.waiting import count, until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

EARLIEST = {"auto.offset.reset": "earliest"}
REFRESH = 0.5
"""Seconds after which a producer asks for its topics again: a topic that it recreates is there then."""

ON_NO_TOPIC = [
    "PRINT nowhere FROM BEGINNING LIMIT 1;",
    "CREATE STREAM no_topic (v INT) WITH (KAFKA_TOPIC = 'nowhere', VALUE_FORMAT = 'JSON');",
    "CREATE TABLE no_topic (k INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 'nowhere', VALUE_FORMAT = 'JSON');",
    "CREATE STREAM no_topic WITH (KAFKA_TOPIC = 'nowhere');",
    "ASSERT TOPIC nowhere TIMEOUT 1 SECOND;",
    "SELECT * FROM lost;",
    "SELECT v, COUNT(*) FROM lost GROUP BY v;",
    "SELECT * FROM lost EMIT CHANGES LIMIT 1;",
    "SELECT v + 1 AS w, COUNT(*) AS n FROM lost GROUP BY v + 1 EMIT CHANGES LIMIT 1;",
    "SELECT * FROM lost_table WHERE k = 1;",
    "INSERT INTO lost VALUES (1, 2);",
    "CREATE STREAM of_lost AS SELECT * FROM lost;",
    "DESCRIBE lost EXTENDED;",
    "DROP STREAM lost;",
    "DROP TABLE lost_table DELETE TOPIC;",
]
"""What asks for topics that are not there, or reads or writes a source whose topic is gone."""


@pytest.fixture(scope="module")
def engine(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    made = Engine(
        Config.of(
            {
                "ksqlpy.data.dir": str(tmp_path_factory.mktemp("first_use")),
                "ksqlpy.warm.up": "false",
                "commit.interval.ms": 2000,
                "kafka.producer.metadata.max.age.ms": int(REFRESH * 1000),
            }
        )
    )
    made.start()
    yield made
    made.stop()


def send(engine: Engine, topic: str, *values: int) -> None:
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    for v in values:
        producer.produce(topic, key=b"a", value=json.dumps({"V": v}).encode())
    assert producer.flush(20) == 0


def rows(engine: Engine, sql: str) -> list[list[object]]:
    return [row for row in engine.query(sql, EARLIEST).rows() if row is not None]


def test_a_producer_makes_its_topic(engine: Engine) -> None:
    send(engine, "first_use", 7)
    engine.execute("CREATE STREAM used (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 'first_use', VALUE_FORMAT = 'JSON');")
    assert rows(engine, "SELECT * FROM used;") == [["a", 7]]
    engine.execute("DROP STREAM used DELETE TOPIC;")


def test_nobody_else_makes_one(engine: Engine) -> None:
    engine.execute(
        "CREATE STREAM lost (k INT KEY, v INT) WITH (KAFKA_TOPIC = 'lost', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
        "CREATE TABLE lost_table (k INT PRIMARY KEY, v INT)"
        " WITH (KAFKA_TOPIC = 'lost_table', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
        "INSERT INTO lost VALUES (1, 1);"  # the producer knows the topic
    )
    there = set(engine.kafka.topics())
    engine.kafka.delete_topics(["lost", "lost_table"])
    assert until(lambda: set(engine.kafka.topics()) == there - {"lost", "lost_table"})
    for sql in ON_NO_TOPIC:
        with contextlib.suppress(KsqlError):
            if sql.startswith(("SELECT", "PRINT")):
                query = engine.query(sql, EARLIEST)
                row = next((r for r in query.rows()), None)
                query.close()
                assert row is None, sql
            else:
                engine.execute(sql, EARLIEST)
        time.sleep(2 * REFRESH)
        found = set(engine.kafka.topics())
        assert found == there - {"lost", "lost_table"}, sql


def test_a_source_of_a_query_is_not_recreated(engine: Engine) -> None:
    engine.execute(
        "CREATE STREAM src (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 'src', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
        "CREATE STREAM src_v WITH (KAFKA_TOPIC = 'src_v') AS SELECT * FROM src;",
        EARLIEST,
    )
    send(engine, "src", 1)
    assert until(lambda: count(engine, "src_v") == 1)
    engine.kafka.delete_topics(["src"])
    [query] = [q.id for q in engine.catalog.queries.values() if q.sink == "SRC_V"]
    assert until(lambda: str(engine.state(query)) == "RETRYING")
    [listed] = [q for q in engine.execute("SHOW QUERIES;")[0]["queries"] if q["id"] == query]
    assert "topic src, which the query reads, was deleted" in listed["queryErrors"][-1]["errorMessage"]
    assert "src" not in engine.kafka.topics()
    engine.execute("DROP STREAM src_v DELETE TOPIC; DROP STREAM src;")


def test_a_topic_that_is_dropped_stays_away(engine: Engine) -> None:
    """Also while Spark keeps producers that have written it."""
    engine.execute(
        "CREATE STREAM short (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 'short', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
        "CREATE STREAM short_v WITH (KAFKA_TOPIC = 'short_v') AS SELECT * FROM short;",
        EARLIEST,
    )
    send(engine, "short", 1)
    assert until(lambda: count(engine, "short_v") == 1)
    assert rows(engine, "SELECT v + 1 AS w, COUNT(*) AS n FROM short GROUP BY v + 1 EMIT CHANGES LIMIT 1;") == [[2, 1]]
    before = set(engine.kafka.topics())
    engine.execute("DROP STREAM short_v DELETE TOPIC;")
    gone = before - {"short_v"}
    assert until(lambda: {t for t in engine.kafka.topics() if "transient" not in t} <= gone)
    for _ in range(10):
        time.sleep(REFRESH)
        assert "short_v" not in engine.kafka.topics()
        assert [t for t in engine.kafka.topics() if "transient" in t] == []
    engine.execute("DROP STREAM short DELETE TOPIC;")


def test_a_topic_of_results_that_others_delete(engine: Engine) -> None:
    """The query's producer recreates it: the query says so, and the way out that it names gives all results."""
    copy = "CREATE STREAM back_v WITH (KAFKA_TOPIC = 'back_v') AS SELECT k, v FROM back;"
    engine.execute(
        "CREATE STREAM back (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 'back', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
        + copy,
        EARLIEST,
    )
    send(engine, "back", 1, 2)
    assert until(lambda: count(engine, "back_v") == 2)
    [query] = [q.id for q in engine.catalog.queries.values() if q.sink == "BACK_V"]
    engine.kafka.delete_topics(["back_v"])
    send(engine, "back", 3)

    def said() -> str:
        [listed] = [q for q in engine.execute("SHOW QUERIES;")[0]["queries"] if q["id"] == query]
        return listed["queryErrors"][-1]["errorMessage"] if listed["state"] == "RETRYING" else ""

    assert until(lambda: "back_v was deleted and recreated" in said())
    assert "DROP … DELETE TOPIC also deletes what the new topic holds" in said()
    engine.execute("DROP STREAM back_v DELETE TOPIC;")
    engine.execute(copy, EARLIEST)
    assert until(lambda: [row[0] for row in rows(engine, "SELECT v FROM back_v;")] == [1, 2, 3])
    engine.execute("DROP STREAM back_v DELETE TOPIC; DROP STREAM back DELETE TOPIC;")
