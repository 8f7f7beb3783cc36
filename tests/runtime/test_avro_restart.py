"""AVRO on Kafka: a restart while the registry is away, and schemas that appear while a query runs."""

from __future__ import annotations

import io
import json
from functools import partial
from pathlib import Path

import fastavro
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import AnalysisProblem
from ksqlpy.formats import codec
from ksqlpy.runtime import Engine
from ksqlpy.testing.registry import Registry
from tests.support.waiting import until

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

EARLIEST = {"auto.offset.reset": "earliest"}


def schema(*more: str) -> str:
    fields = [{"name": "a", "type": "int"}, *({"name": n, "type": ["null", "string"], "default": None} for n in more)]
    return json.dumps({"type": "record", "name": "Theirs", "fields": fields})


def send(engine: Engine, number: int, text: str, value: dict[str, object], topic: str = "s") -> None:
    out = io.BytesIO()
    out.write(b"\0" + number.to_bytes(4))
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(text)), value)
    send_bytes(engine, out.getvalue(), topic)


def send_bytes(engine: Engine, data: bytes, topic: str) -> None:
    producer = Producer(engine.connection.producer({}))
    producer.produce(topic, value=data)
    assert producer.flush(10) == 0


def results(engine: Engine, count: int, seconds: float = 60, source: str = "O") -> list[tuple[object, ...]]:
    """The values of a source so far, when there are so many, or after the seconds."""
    spec = engine.catalog.sources[source].value
    found: list[tuple[object, ...]] = []
    consumer = Consumer(engine.connection.consumer({"group.id": "reads", "enable.auto.commit": False}))
    consumer.assign([TopicPartition(source, 0, 0)])

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


def has_letters(engine: Engine, query: str, count: int) -> bool:
    return engine.brokers.dead_letters.count(query) == count


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


def test_a_subject_that_is_deleted_and_records_that_nobody_can_read(
    spark: SparkSession, broker: EmbeddedKafka, tmp_path: Path
) -> None:
    registry = Registry().start()
    known = registry.register("d-value", schema())
    foreign = registry.register("other", 'syntax = "proto3"; message M { int32 a = 1; }', "PROTOBUF")
    json_schema = registry.register("another", '{"type":"object"}', "JSON")
    config = Config.of(
        {
            "bootstrap.servers": broker.bootstrap,
            "ksql.service.id": "deleted_",
            "ksqlpy.data.dir": str(tmp_path),
            "ksqlpy.warm.up": "false",
            "commit.interval.ms": 3000,
            "ksql.schema.registry.url": registry.url(),
        }
    )
    first = Engine(config)
    first.start()
    try:
        first.execute("CREATE STREAM d (b STRING, a BIGINT) WITH (kafka_topic='d', value_format='AVRO', partitions=1);")
        first.execute("CREATE STREAM e AS SELECT * FROM d;", EARLIEST)
        query = first.catalog.sources["E"].query
        assert query is not None
        send(first, known, schema(), {"a": 1}, "d")
        assert results(first, 1, source="E") == [(None, 1)]
        ahead = b"\0" + known.to_bytes(4)
        wrong = {
            b"\0" + foreign.to_bytes(4) + b"\0\x08\2": f"schema {foreign} is of type PROTOBUF, not AVRO",
            b"\0" + json_schema.to_bytes(4) + b"{}": f"schema {json_schema} is of type JSON, not AVRO",
            b"\0\0\0\x27\x0f\2": "the schema registry has no schema 9999",
            b"\1" + ahead[1:] + b"\2": "not Avro of a schema registry: it begins with byte 1, not 0",
            ahead: f"it ends too early, or is not what schema {known} describes",
            ahead + b"\2\2": f"it ends too early, or is not what schema {known} describes",
        }
        for number, (data, reason) in enumerate(wrong.items(), 1):
            send_bytes(first, data, "d")
            assert until(partial(has_letters, first, query, number))
            assert str(first.brokers.dead_letters.last_reason(query)).endswith(reason)
        registry.forget("d-value")
        registry.forget("E-value")
        send(first, known, schema(), {"a": 2}, "d")
        assert results(first, 2, source="E") == [(None, 1), (None, 2)]
    finally:
        first.stop()
    lost = registry.register("d-value", schema("b", "c"))
    registry.forget("d-value")
    second = Engine(config)
    second.start()
    try:
        send(second, lost, schema("b", "c"), {"a": 3, "b": "x", "c": "y"}, "d")
        assert until(lambda: second.brokers.dead_letters.count(query) == len(wrong) + 1)
        assert str(second.brokers.dead_letters.last_reason(query)).endswith(f"the schema registry has no schema {lost}")
        with pytest.raises(AnalysisProblem, match="no subject d-value") as caught:
            second.execute("CREATE STREAM f WITH (kafka_topic='d', value_format='AVRO');")
        assert caught.value.code == "unknown-schema"
        again = registry.register("d-value", schema("b"))
        send(second, again, schema("b"), {"a": 4, "b": "again"}, "d")
        assert results(second, 3, source="E") == [(None, 1), (None, 2), ("again", 4)]
    finally:
        second.stop()
        registry.stop()
