"""What CREATE without formats or columns answers, and that it is inferred once: from Kafka, by the command log."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from ksqlpy.spark.kafka import Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("inference")
    engine = Engine(
        Config.of(
            {
                "bootstrap.servers": broker.bootstrap,
                "ksqlpy.warm.up": "false",
                "ksqlpy.data.dir": str(folder),
                "ksql.service.id": "inference_",
            }
        )
    )
    engine.start()
    engine.execute(
        "CREATE STREAM rides (id INT KEY, city STRING) WITH (kafka_topic='rides', value_format='JSON', partitions=3);"
        + "".join(f"INSERT INTO rides VALUES ({i}, 'Oslo');" for i in range(12))
        + "INSERT INTO rides VALUES (12, NULL); CREATE STREAM none (v INT)"
        " WITH (kafka_topic='none', value_format='JSON', partitions=2);"
    )
    yield engine
    engine.stop()


def message(engine: Engine, sql: str) -> str:
    [entity] = engine.execute(sql)
    return str(entity["commandStatus"]["message"])


def test_the_answer_says_what_was_inferred(engine: Engine) -> None:
    assert message(engine, "CREATE STREAM s WITH (kafka_topic='rides');") == (
        "Stream created. Inferred from 13 records of topic rides: key KAFKA, `ROWKEY` INTEGER."
        " Inferred from 13 records of topic rides: value JSON, `CITY` STRING"
    )
    assert message(engine, "CREATE OR REPLACE STREAM s WITH (kafka_topic='rides');").startswith(
        "Stream replaced. Inferred from 13 records of topic rides: key KAFKA"
    )
    assert message(engine, "CREATE STREAM listed (city STRING) WITH (kafka_topic='rides');") == (
        "Stream created. Inferred from 13 records of topic rides: value JSON"
    )


def test_nothing_is_said_where_all_is_given(engine: Engine) -> None:
    sql = "CREATE STREAM given (city STRING) WITH (kafka_topic='rides', value_format='JSON');"
    assert message(engine, sql) == "Stream created"


def test_change_events_of_debezium_are_recognised(engine: Engine) -> None:
    engine.execute(
        "CREATE STREAM raw (k STRING KEY, v STRING) WITH (kafka_topic='shop', value_format='KAFKA', partitions=1);"
        """INSERT INTO raw VALUES ('{"id":1}', '{"before":null,"after":{"id":1,"name":"Ann"},"op":"c"}');"""
    )
    found = message(engine, "CREATE STREAM events WITH (kafka_topic='shop');")
    assert found.endswith("VALUE_ENVELOPE = 'DEBEZIUM' reads them as a table")
    assert "value JSON, `BEFORE` STRING, `AFTER` STRUCT<`ID` BIGINT, `NAME` STRING>, `OP` STRING" in found
    assert message(engine, "CREATE TABLE people WITH (kafka_topic='shop', value_envelope='DEBEZIUM');") == (
        "Table created. Inferred from 1 record of topic shop: key JSON, `ID` BIGINT."
        " Inferred from 1 record of topic shop: value JSON, `NAME` STRING"
    )
    source = engine.catalog.sources["PEOPLE"]
    engine.catalog_service.replay()
    assert engine.catalog.sources["PEOPLE"] == source
    assert (source.envelope, source.key.wrapped) == ("DEBEZIUM", True)


@pytest.mark.parametrize("limit", [1, 5, 500])
def test_a_sample_has_so_many_records(engine: Engine, limit: int) -> None:
    found = engine.kafka.last_records("rides", 3, limit, 5.0, committed=True)
    assert len(found) == min(limit, 13)
    assert all(key is not None for key, _ in found)


def test_a_topic_is_read_once_for_a_request(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    records = Kafka.last_records

    def counted(
        self: Kafka, topic: str, partitions: int, most: int, seconds: float, *, committed: bool
    ) -> list[tuple[bytes | None, bytes | None]]:
        read.append(topic)
        return records(self, topic, partitions, most, seconds, committed=committed)

    monkeypatch.setattr(Kafka, "last_records", counted)
    engine.execute("CREATE STREAM once WITH (kafka_topic='rides'); CREATE STREAM twice WITH (kafka_topic='rides');")
    assert read == ["rides"]


def test_a_start_reads_no_sample(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.execute("CREATE TABLE kept WITH (kafka_topic='rides');")
    before = engine.catalog.sources["KEPT"]
    assert [(c.name, str(c.type), c.key) for c in before.columns] == [
        ("ROWKEY", "INTEGER", True),
        ("CITY", "STRING", False),
    ]

    def never(*_: object) -> None:
        raise AssertionError("a sample is read")

    monkeypatch.setattr(Kafka, "last_records", never)
    engine.catalog_service.replay()
    assert engine.catalog.sources["KEPT"] == before
