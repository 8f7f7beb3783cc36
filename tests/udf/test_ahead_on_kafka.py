"""Rows whose calls are on their way, as other queries see them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from tests.runtime.lifecycle import EARLIEST, all_live, configured, read
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

BASE = 1_700_000_000_000
COUNT = 12
STATEMENTS = """
CREATE STREAM orders (id STRING KEY, n INT) WITH (KAFKA_TOPIC='ahead_o', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM payments (id STRING KEY, paid INT) WITH (KAFKA_TOPIC='ahead_p', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE FUNCTION checked(n INT) RETURNS INT LANGUAGE PYTHON AS $$
    import time
    time.sleep(0.4)
    return n
$$;
CREATE STREAM slow AS SELECT id, checked(n) AS n FROM orders;
CREATE STREAM matched AS SELECT p.id AS id, s.n AS n FROM payments p
  LEFT JOIN slow s WITHIN 1 SECONDS GRACE PERIOD 1 SECONDS ON p.id = s.id;
"""


@pytest.fixture
def engine(
    spark: SparkSession, fresh_broker: EmbeddedKafka, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Engine]:
    config = configured(fresh_broker, tmp_path, request.node.name)
    made = Engine(type(config)({**config.values, "ksqlpy.functions.python.enabled": "true"}))
    made.start()
    yield made
    made.stop()


def test_a_join_waits_for_calls_of_the_query_that_writes_its_input(engine: Engine) -> None:
    engine.execute(STATEMENTS, EARLIEST)
    assert until(lambda: all_live(engine))
    producer = Producer({"bootstrap.servers": engine.bootstrap, "linger.ms": 0})
    for n in range(COUNT):
        producer.produce("ahead_o", key=f"k{n}", value=b'{"N": %d}' % n, timestamp=BASE + 10 * n)
        producer.produce("ahead_p", key=f"k{n}", value=b'{"PAID": %d}' % n, timestamp=BASE + 10 * n)
    producer.produce("ahead_p", key="last", value=b'{"PAID": 0}', timestamp=BASE + 3_600_000)  # it closes all windows
    assert producer.flush(20) == 0
    found = read(engine, "MATCHED", COUNT)
    assert sorted((key, value["N"]) for key, value in found) == sorted((f"k{n}".encode(), n) for n in range(COUNT))
