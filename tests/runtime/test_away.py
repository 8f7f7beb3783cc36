"""Queries whose brokers are away for a while."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.runtime import Engine
from tests.harness.broker import Broker
from tests.support.waiting import count, until

STATEMENTS = """
CREATE STREAM orders (item STRING KEY, n INT) WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE sums WITH (KAFKA_TOPIC = 'sums') AS SELECT item, SUM(n) AS s FROM orders GROUP BY item;
"""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    made = Broker(tmp_path / "broker")
    made.start()
    yield made
    made.end()


@pytest.fixture
def engine(spark: SparkSession, broker: Broker, tmp_path: Path) -> Iterator[Engine]:
    made = Engine(
        Config.of(
            {
                "bootstrap.servers": broker.bootstrap,
                "ksqlpy.data.dir": str(tmp_path / "data"),
                "ksqlpy.warm.up": "false",
            }
        )
    )
    made.start()
    yield made
    made.stop()


def test_a_query_says_that_brokers_are_away_and_goes_on_when_they_are_back(engine: Engine, broker: Broker) -> None:
    engine.execute(STATEMENTS)
    producer = Producer({"bootstrap.servers": engine.bootstrap, "log_level": 0})
    producer.produce("orders", key=b"a", value=json.dumps({"N": 1}).encode())
    assert producer.flush(20) == 0
    assert until(lambda: count(engine, "sums") == 1)
    [query_id] = engine.catalog.queries
    query = engine.queries.get(query_id)
    assert query is not None

    def told() -> None:
        assert until(lambda: len(query.failures) > 0)
        assert [f.kind for f in query.failures] == ["SYSTEM"]
        assert query.failures[0].message.startswith(f"Kafka at {broker.bootstrap} does not answer")
        assert engine.state(query_id) == "RUNNING"

    broker.kill(0, told)  # it comes back when that is done
    producer.produce("orders", key=b"a", value=json.dumps({"N": 2}).encode())
    assert producer.flush(20) == 0
    assert until(lambda: count(engine, "sums") == 2)
