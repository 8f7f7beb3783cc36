"""Records that could end the JVM or hold a query: each becomes a dead letter, and those behind it are read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.deadletters import Letter, read_letters
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from tests.support.waiting import until as wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

until = partial(wait_until, seconds=120)
NANOSECONDS = 1_700_000_000_000_000_000
"""A time in ns, where ms are meant."""


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("hostile")
    made = Engine(
        Config.of(
            {
                "bootstrap.servers": broker.bootstrap,
                "ksql.service.id": f"{folder.name}_",
                "ksqlpy.data.dir": str(folder),
                "ksqlpy.warm.up": "false",
                "ksql.streams.auto.offset.reset": "earliest",
            }
        )
    )
    made.start()
    yield made
    made.stop()


def write(engine: Engine, topic: str, *values: bytes, compression: str = "none", **more: object) -> None:
    """Writes records; those of one call that are compressed are one batch."""
    settings = {"message.max.bytes": 1_000_000_000, "queue.buffering.max.kbytes": 2_000_000, "linger.ms": 100}
    producer = Producer({"bootstrap.servers": engine.bootstrap, "compression.type": compression, **settings})
    failed: list[object] = []
    for value in values:
        producer.produce(topic, key=b"k", value=value, on_delivery=lambda e, _: e and failed.append(e), **more)
    assert producer.flush(120) == 0
    assert not failed


def letters(engine: Engine, query: str) -> list[Letter]:
    found = read_letters(engine.connection, engine.topics.dead_letters).letters
    return [letter for letter in found if letter.query == query]


def has_letters(engine: Engine, query: str, count: int) -> bool:
    return len(letters(engine, query)) == count


def pulled(engine: Engine, sql: str) -> list[object]:
    return list(engine.query(sql).rows())


FURTHER = pytest.mark.extended("further codecs, and a batch of 600 MB")


@pytest.mark.parametrize("codec", ["zstd", pytest.param("gzip", marks=FURTHER), pytest.param("lz4", marks=FURTHER)])
def test_a_record_that_is_small_when_compressed(engine: Engine, codec: str) -> None:
    name = f"bomb_{codec}"
    engine.execute(
        f"CREATE STREAM {name} (k STRING KEY, n INT) WITH (kafka_topic='{name}', value_format='JSON', partitions=1);"
        f"CREATE STREAM {name}_out WITH (query_id='{name.upper()}_Q') AS SELECT k, n FROM {name};"
        f"CREATE TABLE {name}_counts WITH (query_id='{name.upper()}_C') AS"
        f" SELECT k, COUNT(*) AS c FROM {name} GROUP BY k;"
    )
    bomb = b'{"N": 7, "T": "' + bytes(200_000_000) + b'"}'
    write(engine, name, b'{"N": 1}')
    write(engine, name, bomb, compression=codec)
    write(engine, name, b'{"N": 2}', b'{"N": 3}')
    del bomb
    for query in (f"{name.upper()}_Q", f"{name.upper()}_C"):
        assert until(partial(has_letters, engine, query, 1))
        (letter,) = letters(engine, query)
        assert (letter.topic, letter.partition, letter.offset, letter.value) == (name, 0, 1, None)
        assert "too large: it has 2000000" in letter.reason
        assert letter.reason.endswith("bytes, ksqlpy.record.max.bytes is 16777216")
    assert until(lambda: pulled(engine, f"SELECT c FROM {name}_counts WHERE k = 'k';") == [[3]])
    # librdkafka reads it here, not Spark: it unpacks up to 100 MB.
    assert pulled(engine, f"SELECT n FROM {name};") == [[1], [2], [3]]
    engine.execute(
        f"CREATE TABLE {name}_table (k STRING PRIMARY KEY, n INT) WITH (kafka_topic='{name}', value_format='JSON');"
    )
    assert pulled(engine, f"SELECT n FROM {name}_table WHERE k = 'k';") == [[3]]


@FURTHER
def test_a_batch_of_many_large_records(engine: Engine) -> None:
    engine.execute(
        "CREATE STREAM many (k STRING KEY, n INT) WITH (kafka_topic='many', value_format='JSON', partitions=1);"
        "CREATE TABLE many_counts AS SELECT k, COUNT(*) AS c FROM many GROUP BY k;"
    )
    large = b'{"N": 7, "T": "' + bytes(1_000_000).replace(b"\0", b"a") + b'"}'
    write(engine, "many", *[large] * 600, compression="zstd")
    assert until(lambda: pulled(engine, "SELECT c FROM many_counts WHERE k = 'k';") == [[600]])


def test_a_time_that_is_none(engine: Engine) -> None:
    engine.execute(
        "CREATE STREAM late (k STRING KEY, n INT) WITH (kafka_topic='late', value_format='JSON', partitions=1);"
        "CREATE STREAM late_out WITH (query_id='LATE_Q') AS SELECT k, n FROM late;"
        "CREATE TABLE late_counts WITH (query_id='LATE_C') AS"
        " SELECT k, COUNT(*) AS c FROM late WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY k;"
    )
    write(engine, "late", b'{"N": 1}', timestamp=1_700_000_000_000)
    write(engine, "late", b'{"N": 2}', timestamp=NANOSECONDS)
    write(engine, "late", b'{"N": 3}', timestamp=9_223_372_036_854_775_806)
    write(engine, "late", b'{"N": 4}', timestamp=1_700_000_000_001)
    for query in ("LATE_Q", "LATE_C"):
        assert until(partial(has_letters, engine, query, 2))
        assert [letter.offset for letter in letters(engine, query)] == [1, 2]
        assert letters(engine, query)[0].reason == f"event time is too late for milliseconds ({NANOSECONDS})"
    assert until(lambda: pulled(engine, "SELECT c FROM late_counts WHERE k = 'k';") == [[2]])
    assert pulled(engine, "SELECT n FROM late;") == [[1], [4]]
