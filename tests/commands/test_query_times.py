"""``ksqlpy query`` on a real broker: parts of the history, in pieces, and records that are not in the order of time."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import httpx
import pytest
from confluent_kafka import Producer

from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.spark.kafka import Kafka
from ksqlpy.spark.progress import ReadCount
from ksqlpy.testing.registry import shared_registry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

SOURCES = """
CREATE STREAM moves (who STRING KEY, n INT) WITH (kafka_topic = 'moves', value_format = 'JSON', partitions = 2);
CREATE TABLE names (who STRING PRIMARY KEY, name STRING)
  WITH (kafka_topic = 'names', value_format = 'JSON', partitions = 2);
CREATE STREAM many (n INT) WITH (kafka_topic = 'many', value_format = 'JSON', partitions = 2);
"""

# Partition, time in ms, key, n. In partition 0 an old record stands behind newer ones, and one of 2000 behind 5000.
MOVES = [
    (0, 1000, "a", 1), (0, 2000, "a", 2), (0, 5000, "a", 3), (0, 1500, "a", 4), (0, 2000, "a", 5), (0, 3000, "a", 6),
    (1, 1000, "b", 7), (1, 2500, "b", 8),
]  # fmt: skip
NAMES = [(0, 500, "a", "Ann"), (1, 600, "b", "Bo"), (0, 2200, "a", "Anna"), (1, 9000, "b", "Bob")]

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def filled(broker: EmbeddedKafka) -> str:
    made = Kafka(KafkaConnection(broker.bootstrap))
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for topic in ("moves", "names", "many", "avro"):
        made.create_topic(topic, 2, None, {"retention.ms": "-1"})  # else records of 1970 are deleted soon
    for partition, time, key, n in MOVES:
        producer.produce("moves", f'{{"N": {n}}}', key, partition, timestamp=time)
    for partition, time, key, name in NAMES:
        producer.produce("names", f'{{"NAME": "{name}"}}', key, partition, timestamp=time)
    for n in range(100):
        producer.produce("many", f'{{"N": {n}}}', None, int(n >= 30), timestamp=1000 + n)
    assert producer.flush(30) == 0
    return broker.bootstrap


@pytest.fixture
def answer(filled: str, ksqlpy: Run, spark: SparkSession) -> Callable[..., list[str]]:
    def ask(sql: str, *options: object) -> list[str]:
        done = ksqlpy("query", "-e", SOURCES, "--bootstrap-servers", filled, "--output", "csv", *options, sql)
        assert (done.code, re.sub(r"\d+ rows? in [\d.]+ s\n", "", done.err)) == (0, "")
        return str(done.out).split()[1:]

    return ask


def test_the_first_record_of_a_time(filled: str) -> None:
    kafka = Kafka(KafkaConnection(filled))
    assert kafka.offsets_since({"moves": 2}, 2000) == {"moves": {"0": 1, "1": 1}}
    assert kafka.offsets_since({"moves": 2}, 2501) == {"moves": {"0": 2, "1": -1}}
    assert kafka.offsets_since({"moves": 2}, 0) == {"moves": {"0": 0, "1": 0}}


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ((), [1, 2, 3, 4, 5, 6, 7, 8]),
        (("--from", 2000), [2, 3, 5, 6, 8]),
        (("--to", 2500), [1, 2, 4, 5, 7]),
        (("--from", 2000, "--to", 3000), [2, 5, 8]),
        (("--from", 2501), [3, 6]),
        (("--from", 6000), []),
        (("--to", 1000), []),
        (("--from", "1970-01-01T00:00:05Z", "--to", "2100-01-01"), [3]),
        (("--from", 2000, "--timeout", 100), [2, 3, 5, 6, 8]),  # as a stream
        (("--from", 2501, "--follow", "--limit", 2), [3, 6]),
    ],
)
def test_records_between_two_times(
    options: tuple[object, ...], numbers: list[int], answer: Callable[..., list[str]]
) -> None:
    found = [int(n) for n in answer("SELECT n FROM moves", *options)]
    assert sorted(found) == numbers
    assert [n for n in found if n < 7] == [n for n in numbers if n < 7]  # those of a partition in their order


def test_a_query_with_state(answer: Callable[..., list[str]]) -> None:
    sql = "SELECT who, COUNT(*) AS c, SUM(n) AS s FROM moves GROUP BY who"
    assert sorted(answer(sql, "--from", 2000, "--to", 3000)) == ["a,2,7", "b,1,8"]
    windows = "SELECT who, WINDOWSTART, COUNT(*) AS c FROM moves WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY who"
    assert sorted(answer(windows, "--from", 1001, "--to", 5000)) == ["a,1000,1", "a,2000,2", "a,3000,1", "b,2000,1"]


def test_tables_are_cut_at_the_end_only(answer: Callable[..., list[str]]) -> None:
    assert sorted(answer("SELECT who, name FROM names", "--from", 2300)) == ["a,Anna", "b,Bob"]
    assert sorted(answer("SELECT who, name FROM names", "--from", 700, "--to", 2200)) == ["a,Ann", "b,Bo"]
    joined = "SELECT m.n, t.name FROM moves m JOIN names t ON m.who = t.who"
    assert sorted(answer(joined, "--from", 2000, "--to", 3001)) == ["2,Ann", "5,Ann", "6,Anna", "8,Bo"]


def test_the_pieces_of_a_partition_come_in_their_order(
    answer: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ksqlpy.local.query._AT_ONCE", 7)
    found = [int(n) for n in answer("SELECT n FROM many WHERE n <> 50")]
    expected = [*range(30)], [n for n in range(30, 100) if n != 50]
    assert found in ([*expected[0], *expected[1]], [*expected[1], *expected[0]])
    assert sorted(int(n) for n in answer("SELECT n FROM many", "--from", 1095)) == [95, 96, 97, 98, 99]
    assert len(answer("SELECT n FROM many", "--limit", 20)) == 20


def test_records_are_counted_while_they_are_read(
    answer: Callable[..., list[str]], spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[ReadCount] = []

    class Kept(ReadCount):
        def __init__(self, session: SparkSession, each: float = 0) -> None:
            super().__init__(session, each)
            assert self.records() == 0
            made.append(self)

    monkeypatch.setattr("ksqlpy.spark.progress.ReadCount", Kept)
    monkeypatch.setattr("ksqlpy.local.query._AT_ONCE", 20)
    for sql in ("SELECT n FROM many WHERE n < 0", "SELECT n, COUNT(*) AS c FROM many WHERE n < 0 GROUP BY n"):
        assert answer(sql) == []
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()  # type: ignore[union-attr]
        assert (sql, made[-1].records()) == (sql, 100)


def test_records_whose_schema_the_registry_has(filled: str, ksqlpy: Run, spark: SparkSession, tmp_path: Path) -> None:
    registry, name = shared_registry()
    schema = {"type": "record", "name": "R", "fields": [{"name": "N", "type": "int"}]}
    url = registry.url(name)
    answer = httpx.post(f"{url}/subjects/avro-value/versions", json={"schema": json.dumps(schema)})
    value = io.BytesIO()
    fastavro.schemaless_writer(value, fastavro.parse_schema(schema), {"N": 7})
    producer = Producer({"bootstrap.servers": filled})
    producer.produce("avro", b"\0" + answer.json()["id"].to_bytes(4, "big") + value.getvalue(), "a", 0, timestamp=1000)
    assert producer.flush(30) == 0
    config = tmp_path / "server.properties"
    config.write_text(f"ksql.schema.registry.url={url}\nbootstrap.servers={filled}\n")
    source = "CREATE STREAM avro (who STRING KEY, n INT) WITH (kafka_topic='avro', value_format='AVRO');"
    done = ksqlpy("query", "-e", source, "--config", str(config), "--output", "csv", "SELECT who, n FROM avro")
    assert (done.code, done.out.split()[1:]) == (0, ["a,7"]), done.err
