"""What queries have noted of their producers goes when they end, also where there was no JVM to see to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from ksqlpy.spark.fencing import SinkProducer
from ksqlpy.spark.kafka import Kafka
from tests.harness.server import Server
from tests.runtime.lifecycle import EARLIEST, all_live, configured
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

STATEMENTS = """
CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = '{t}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM stays WITH (QUERY_ID = 'stays', KAFKA_TOPIC = '{t}_stays') AS SELECT * FROM s;
CREATE STREAM ends WITH (QUERY_ID = 'ends', KAFKA_TOPIC = '{t}_ends') AS SELECT * FROM s;
"""


def noted(kafka: Kafka, topic: str) -> dict[str, Any]:
    """The queries in the register, with the producers of the last note of each."""
    reader, found = kafka.reader(), dict[str, Any]()
    reader.assign([TopicPartition(topic, 0, 0)])
    for _ in range(kafka.offsets({topic: 1}, latest=True)[topic]["0"]):
        message = reader.poll(10)
        assert message is not None and message.error() is None
        _, _, query = (message.key() or b"").decode().partition("/")
        value = message.value()
        if value is None:
            found.pop(query, None)
        elif query:
            found[query] = json.loads(value)["producers"]
    reader.close()
    return found


def test_a_paused_query_that_ends_leaves_no_note(
    spark: SparkSession, broker: EmbeddedKafka, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    engine = Engine(configured(broker, tmp_path, request.node.name))
    engine.start()
    try:
        engine.execute(STATEMENTS.format(t="paused"), EARLIEST)
        assert until(lambda: all_live(engine))
        register = engine.topics.producers
        assert {q for q, producers in noted(engine.kafka, register).items() if producers} == {"STAYS", "ENDS"}
        engine.execute("PAUSE ENDS;")
        engine.execute("TERMINATE ENDS;")
        assert until(lambda: set(noted(engine.kafka, register)) == {"STAYS"})
    finally:
        engine.stop()


def test_the_next_start_ends_the_producers_of_queries_that_have_ended(
    spark: SparkSession, broker: EmbeddedKafka, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    config: Config = configured(broker, tmp_path, request.node.name)
    first = Engine(config)
    first.start()
    try:
        first.execute(STATEMENTS.format(t="next"), EARLIEST)
        assert until(lambda: all_live(first))
        first.execute("PAUSE STAYS; TERMINATE ENDS;")
        end = first.kafka.offsets({"next_ends": 1}, latest=True)["next_ends"]["0"]
        register = first.brokers.register
        assert register is not None
        # As it would be noted if its JVM had died with it.
        register.enter("ENDS", SinkProducer("another JVM", 4_000_000, ("next_ends",)))
    finally:
        first.stop()
    second = Engine(config)
    second.start()
    try:
        assert until(lambda: set(noted(second.kafka, second.topics.producers)) == {"STAYS"})
        # The brokers have noted that nothing of this producer may come any more.
        assert second.kafka.offsets({"next_ends": 1}, latest=True)["next_ends"]["0"] == end + 1
    finally:
        second.stop()


@pytest.mark.extended("a server as a process, whose JVM dies")
def test_a_query_that_ends_while_there_is_no_jvm_leaves_no_note(broker: EmbeddedKafka, tmp_path: Path) -> None:
    connection = KafkaConnection(broker.bootstrap)
    kafka, service = Kafka(connection), "no_jvm_"
    server = Server(connection, tmp_path, {"ksql.service.id": service, "ksqlpy.warm.up": "false"})
    try:
        server.start()
        server.statements(STATEMENTS.format(t="no_jvm"))
        assert until(lambda: set(server.queries().values()) == {"RUNNING"})
        server.kill_jvm()
        assert until(lambda: "RUNNING" not in server.queries().values())
        server.statements("TERMINATE ENDS;")
        register = f"_ksqlpy-{service}producers"
        assert noted(kafka, register)["ENDS"]
        assert until(lambda: server.queries() == {"STAYS": "RUNNING"})
        assert until(lambda: set(noted(kafka, register)) == {"STAYS"})
    finally:
        server.close()
