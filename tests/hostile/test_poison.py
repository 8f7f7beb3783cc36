"""A record that ends Spark's JVM each time it is read: its queries are held, the others run on, SKIP ends it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from ksqlpy.connection import KafkaConnection
from ksqlpy.deadletters import read_letters
from ksqlpy.deadletters.letters import records
from ksqlpy.errors import KsqlError
from ksqlpy.testing.chaos.broker import Broker
from ksqlpy.testing.chaos.server import Server
from tests.support.waiting import until

STATEMENTS = """
CREATE STREAM maps (k STRING KEY, a ARRAY<MAP<STRING, INT>>)
  WITH (KAFKA_TOPIC = 'maps', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM orders (k STRING KEY, n INT) WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM counted WITH (QUERY_ID = 'counted', KAFKA_TOPIC = 'counted') AS
  SELECT k, ARRAY_LENGTH(a) AS n FROM maps;
CREATE TABLE per_key WITH (QUERY_ID = 'per_key', KAFKA_TOPIC = 'per_key') AS
  SELECT k, COUNT(a) AS n FROM maps GROUP BY k;
CREATE STREAM copied WITH (QUERY_ID = 'copied', KAFKA_TOPIC = 'copied') AS SELECT k, n FROM orders;
CREATE TABLE summed WITH (QUERY_ID = 'summed', KAFKA_TOPIC = 'summed') AS
  SELECT k, SUM(n) AS n FROM orders GROUP BY k;
"""
POISON = b'{"A": [' + b",".join([b"{}"] * 5_000_000) + b"]}"
"""It is small on its way; read, its 5,000,000 maps are larger than the JVM's memory."""


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.extended("a server as a process, whose JVM dies")
def test_a_record_that_ends_the_jvm(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "broker")
    broker.start()
    connection = KafkaConnection(broker.bootstrap)
    server = Server(connection, tmp_path, {"ksqlpy.spark.memory": "480m"})
    producer = Producer({"bootstrap.servers": broker.bootstrap, "compression.type": "zstd", "message.max.bytes": 10**8})

    def write(topic: str, *values: bytes) -> None:
        for value in values:
            producer.produce(topic, key=b"k", value=value, partition=0)
        assert producer.flush(60) == 0

    def read(topic: str) -> list[dict[str, int]]:
        return [json.loads(m.value()) for m in records(connection, {topic: {}})]

    try:
        server.start()
        server.statements("SET 'auto.offset.reset' = 'earliest';" + STATEMENTS)
        assert until(lambda: set(server.queries().values()) == {"RUNNING"}, 60)
        write("orders", b'{"N": 1}')
        write("maps", b'{"A": [{}]}', POISON, b'{"A": [{}, {}]}')
        found = {"COUNTED": "ERROR", "PER_KEY": "ERROR", "COPIED": "RUNNING", "SUMMED": "RUNNING"}
        assert until(lambda: server.queries() == found, 240), server.queries()
        (described,) = server.statements("EXPLAIN counted;")
        said = described["queryDescription"]["queryErrors"][-1]["errorMessage"]
        assert said.startswith("Spark's JVM dies when the query reads record maps/0/1")
        write("orders", b'{"N": 2}')
        assert until(lambda: len(read("copied")) == 2, 60)
        server.statements("SKIP 'maps/0/1' FOR ALL;")
        assert until(lambda: set(server.queries().values()) == {"RUNNING"}, 60)
        assert until(lambda: [r["N"] for r in read("counted")] == [1, 2], 60)
        assert until(lambda: [r["N"] for r in read("per_key")] == [1, 2], 60)
        (topic,) = (t for t in AdminClient({"bootstrap.servers": broker.bootstrap}).list_topics().topics if "dead" in t)
        letters = read_letters(connection, topic).letters
        assert sorted((x.query, x.topic, x.offset, x.reason) for x in letters) == [
            ("COUNTED", "maps", 1, "skipped by a statement"),
            ("PER_KEY", "maps", 1, "skipped by a statement"),
        ]
        with pytest.raises(KsqlError) as refused:
            server.statements("SKIP 'orders/0/0' FOR counted;")
        assert refused.value.code == "bad-record"
    finally:
        server.close()
        broker.end()
