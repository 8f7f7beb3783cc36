"""What queries remember: of joined tables what is alive, and nothing of the rows that only asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from tests.support.waiting import count
from tests.support.waiting import until as wait_until

until = partial(wait_until, seconds=120)

STATEMENTS = """
CREATE TABLE lands (city STRING PRIMARY KEY, land STRING) WITH (KAFKA_TOPIC='lands', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE mayors (city STRING PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC='mayors', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM trips (city STRING KEY, n INT) WITH (KAFKA_TOPIC='trips', VALUE_FORMAT='JSON', PARTITIONS=1);
SET 'auto.offset.reset' = 'earliest';
CREATE STREAM placed WITH (QUERY_ID='placed') AS SELECT t.city AS city, n, land, name
  FROM trips t JOIN lands l ON t.city = l.city LEFT JOIN mayors m ON t.city = m.city;
"""


@pytest.fixture
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("state")
    made = Engine(
        Config.of(
            {
                "bootstrap.servers": broker.bootstrap,
                "ksqlpy.data.dir": str(folder),
                "ksqlpy.warm.up": "false",
                "commit.interval.ms": 2000,
            }
        )
    )
    made.start()
    yield made
    made.stop()


def remembered(engine: Engine) -> list[str]:
    """The keys of the query's state, as of its last commit; none before the first."""
    folder = Path(engine.queries.checkpoints.folder("PLACED")) / "spark"
    if not any(f.name.isdigit() for f in folder.glob("commits/*")):
        return []
    rows = engine.session.read.format("statestore").load(str(folder)).select("key.*").collect()
    return sorted(str(row[0]) for row in rows)


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.slow
def test_of_joined_tables_what_is_alive(engine: Engine) -> None:
    engine.execute(STATEMENTS)
    producer = Producer({"bootstrap.servers": engine.bootstrap, "linger.ms": 0})

    def send(topic: str, city: str, value: object) -> None:
        producer.produce(topic, key=city, value=None if value is None else json.dumps(value))
        assert producer.flush(20) == 0

    def ask() -> None:
        for number, city in enumerate(("Oslo", "Rome", "Bern", *(f"village {n}" for n in range(40)))):
            send("trips", city, {"N": number})

    def asked(results: int) -> bool:
        """Asks until so many results more are there: a stream's rows may overtake those of tables."""
        wanted = count(engine, "PLACED") + results

        def more() -> bool:
            ask()
            return count(engine, "PLACED") >= wanted

        return until(more)

    query = engine.queries.get("PLACED")
    assert query is not None and until(query.live.is_set)
    for city in ("Oslo", "Rome", "Bern"):
        send("lands", city, {"LAND": "land"})
    send("mayors", "Oslo", {"NAME": "Marianne"})
    send("mayors", "Lima", {"NAME": "Rafael"})
    send("lands", "Rome", None)
    assert asked(4)
    assert until(lambda: remembered(engine) == ["Bern", "Lima", "Oslo"])
    send("lands", "Bern", None)
    assert asked(2)
    assert until(lambda: remembered(engine) == ["Lima", "Oslo"])
    engine.execute("PAUSE PLACED;")
    assert remembered(engine) == ["Lima", "Oslo"]
    engine.execute("RESUME PLACED;")
    assert asked(2)
