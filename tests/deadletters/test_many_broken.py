"""One record in a hundred is broken, in ten ways: good ones come out, the others are dead letters, and come out mended.

``--generated 100000`` takes so many records.
"""

from __future__ import annotations

import json
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeVar

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.deadletters import read_letters, replay
from ksqlpy.deadletters.letters import records
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.formats import codec
from ksqlpy.registry import SchemaRegistry
from ksqlpy.runtime import Engine
from ksqlpy.testing.registry import Registry

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

PARTITIONS = 4
BEGIN = 1_700_000_000_000
T = TypeVar("T")


@pytest.fixture
def registry() -> Iterator[Registry]:
    made = Registry().start()
    yield made
    made.stop()


def ways(registry: SchemaRegistry) -> dict[str, list[Callable[[bytes], bytes]]]:
    """Five ways to break a value of each format."""
    other = registry.register("others-value", 'syntax = "proto3"; message Other { string a = 1; }', "PROTOBUF")
    return {
        "JSON": [
            lambda good: good[:-1],
            lambda good: b'{"V": "many", "D": 1}',
            lambda good: b'{"V": {"a": 1}, "D": 1}',
            lambda good: b'["V"]',
            lambda good: b"\xff" + good,
        ],
        "AVRO": [
            lambda good: b"\1" + good[1:],
            lambda good: b"\0" + struct.pack(">i", 999_999) + good[5:],
            lambda good: good[:6],
            lambda good: b"\0" + struct.pack(">i", other) + good[5:],
            lambda good: good[:5] + b"\x08" + good[6:],
        ],
    }


def test_all_come_out_once(
    spark: SparkSession,
    broker: EmbeddedKafka,
    registry: Registry,
    generated: Callable[[int], int],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    count = generated(2000)
    url = registry.url("many")
    engine = Engine(
        Config.of(
            {
                "bootstrap.servers": broker.bootstrap,
                "ksqlpy.warm.up": "false",
                "ksqlpy.data.dir": str(tmp_path_factory.mktemp("many")),
                "ksql.service.id": "many_",
                "ksql.schema.registry.url": url,
            }
        )
    )
    engine.start()
    try:
        broken = ways(SchemaRegistry([url]))
        for name in broken:
            engine.execute(
                f"CREATE STREAM in_{name} (v INT, d INT) WITH (kafka_topic='in_{name}', value_format='{name}',"
                f" partitions={PARTITIONS});"
                f"CREATE STREAM out_{name} WITH (query_id='{name}', value_format='JSON') AS"
                f" SELECT v, d FROM in_{name};",
                {"auto.offset.reset": "earliest"},
            )
        producer = Producer({"bootstrap.servers": engine.bootstrap})
        right: dict[tuple[str, int], bytes] = {}
        bad: Counter[tuple[str, int]] = Counter()
        for name, kinds in broken.items():
            encode = codec(engine.catalog.sources[f"IN_{name}"].value).encode
            for i in range(count // 2):
                value = encode([i, i % 7]) or b""
                if i % 100 == 50:
                    right[name, BEGIN + i] = value
                    way = i // 100 % len(kinds)
                    bad[name, way] += 1
                    value = kinds[way](value)
                send(producer, f"in_{name}", value, i % PARTITIONS, BEGIN + i)
        producer.flush()

        letters = waited(lambda: read_letters(engine.connection, engine.topics.dead_letters).letters, len(right))
        assert Counter(x.query for x in letters) == Counter(name for name, _ in right)
        assert all(x.reason and x.topic == f"in_{x.query}" for x in letters)
        assert {(x.query, x.timestamp) for x in letters} == right.keys()
        assert len({(x.topic, x.partition, x.offset) for x in letters}) == len(letters)
        reasons = {(x.query, (x.timestamp - BEGIN) // 100 % 5): x.reason for x in letters}
        assert reasons.keys() == bad.keys()
        assert all(len({r for (n, _), r in reasons.items() if n == name}) >= 4 for name in broken), reasons

        mended = [replace(x, value=right[x.query, x.timestamp]) for x in letters]
        known = read_letters(engine.connection, engine.topics.dead_letters)
        assert replay(engine.connection, known, mended) == len(right)
        known = read_letters(engine.connection, engine.topics.dead_letters)
        assert replay(engine.connection, known, mended) == 0
        for name in broken:
            found = waited(partial(values, engine, f"OUT_{name}"), count // 2)
            assert Counter(found) == Counter(range(count // 2))
        assert len(read_letters(engine.connection, engine.topics.dead_letters).letters) == len(right)
    finally:
        engine.stop()


def send(producer: Producer, topic: str, value: bytes, partition: int, at: int) -> None:
    while True:
        try:
            producer.produce(topic, value=value, partition=partition, timestamp=at)
            return
        except BufferError:
            producer.poll(0.1)


def waited(look: Callable[[], list[T]], count: int) -> list[T]:
    """What is there once there is so much, or nothing more has come for a minute."""
    found, since = look(), time.monotonic()
    while len(found) < count and time.monotonic() < since + 60:
        time.sleep(0.5)
        found, before = look(), found
        since = time.monotonic() if len(found) > len(before) else since
    return found


def values(engine: Engine, topic: str) -> list[int]:
    return [json.loads(m.value() or b"")["V"] for m in records(engine.connection, {topic: {}})]
