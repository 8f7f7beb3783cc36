"""AVRO on Kafka: a restart while the registry is away, and schemas that appear while a query runs."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import fastavro
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import SparkSession
from waiting import until

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.formats import codec
from ksqlpy.runtime import Engine
from ksqlpy.testing.registry import Registry

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

EARLIEST = {"auto.offset.reset": "earliest"}


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(settings={"group.initial.rebalance.delay.ms": "0"}) as started:
        yield started


def schema(*more: str) -> str:
    fields = [{"name": "a", "type": "int"}, *({"name": n, "type": ["null", "string"], "default": None} for n in more)]
    return json.dumps({"type": "record", "name": "Theirs", "fields": fields})


def send(engine: Engine, number: int, text: str, value: dict[str, object]) -> None:
    out = io.BytesIO()
    out.write(b"\0" + number.to_bytes(4))
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(text)), value)
    producer = Producer(engine.connection.producer({}))
    producer.produce("s", value=out.getvalue())
    assert producer.flush(10) == 0


def results(engine: Engine, count: int, seconds: float = 60) -> list[tuple[object, ...]]:
    """The values of O so far, when there are so many, or after the seconds."""
    spec = engine.catalog.sources["O"].value
    found: list[tuple[object, ...]] = []
    consumer = Consumer(engine.connection.consumer({"group.id": "reads", "enable.auto.commit": False}))
    consumer.assign([TopicPartition("O", 0, 0)])

    def enough() -> bool:
        for message in consumer.consume(100, timeout=0.2):
            assert message.error() is None
            value = message.value()
            row = codec(spec).decode(value if isinstance(value, bytes) else None)
            assert row is not None
            found.append(row)
        return len(found) >= count

    until(enough, seconds)
    consumer.close()
    return found


def test_replay_asks_no_registry_and_records_wait(spark: SparkSession, broker: EmbeddedKafka, tmp_path: Path) -> None:
    registry = Registry().start()
    port = registry.port
    first_id = registry.register("s-value", schema())
    config = Config.of(
        {
            "bootstrap.servers": broker.bootstrap,
            "ksql.service.id": "avro_",
            "ksqlpy.data.dir": str(tmp_path),
            "ksqlpy.warm.up": "false",
            "commit.interval.ms": 3000,
            "ksql.schema.registry.url": registry.url(),
        }
    )
    first = Engine(config)
    first.start()
    try:
        first.execute("CREATE STREAM s (b STRING, a BIGINT) WITH (kafka_topic='s', value_format='AVRO', partitions=1);")
        first.execute("CREATE STREAM o AS SELECT * FROM s;", EARLIEST)
        before = first.catalog.sources["O"]
        send(first, first_id, schema(), {"a": 1})
        assert results(first, 1) == [(None, 1)]
        # A version that nobody has seen comes while the query runs.
        second_id = registry.register("s-value", schema("b"))
        send(first, second_id, schema("b"), {"a": 2, "b": "new"})
        assert results(first, 2) == [(None, 1), ("new", 2)]
    finally:
        first.stop()
    third_id = registry.register("s-value", schema("b", "c"))
    registry.stop()
    asked = len(registry.asked)
    second = Engine(config)
    second.start()
    try:
        assert len(registry.asked) == asked
        assert second.catalog.sources["O"] == before
        assert before.value.schema_id is not None
        send(second, third_id, schema("b", "c"), {"a": 3, "b": "waits", "c": "x"})
        assert results(second, 3, seconds=15) == [(None, 1), ("new", 2)]
        registry.start(port)
        assert results(second, 3) == [(None, 1), ("new", 2), ("waits", 3)]
        assert before.query is not None and second.brokers.dead_letters.count(before.query) == 0
    finally:
        second.stop()
        registry.stop()
