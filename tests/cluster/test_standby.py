"""A standby waits while another server runs the service, answers 503, and takes over when that one is gone."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import KsqlError
from ksqlpy.runtime import Engine
from tests.harness.server import Server
from tests.support.waiting import messages, until

pytestmark = pytest.mark.kafka


def status(server: Server) -> int:
    """The HTTP status of its health check; 0 where nobody listens."""
    try:
        with urllib.request.urlopen(f"{server.url}/healthcheck", timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as e:
        return e.code
    except OSError:
        return 0


def send(broker: EmbeddedKafka, first: int, last: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for n in range(first, last):
        producer.produce("s", key=str(n % 5), value=json.dumps({"N": n}))
    producer.flush()


def counts(broker: EmbeddedKafka, wanted: int) -> Counter[tuple[str, int]]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "t", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition("C", 0, 0)])
    found = messages(consumer, wanted, 120, quiet=3)
    return Counter(((m.key() or b"").decode(), json.loads(m.value() or b"")["N"]) for m in found)


@pytest.mark.extended("several servers as processes")
def test_it_takes_over_without_a_double(tmp_path: Path) -> None:
    more = {"ksqlpy.warm.up": "false", "ksqlpy.checkpoint.dir": str(tmp_path / "checkpoints")}
    folders = [tmp_path / "active", tmp_path / "standby"]
    for folder in folders:
        folder.mkdir()
    with EmbeddedKafka() as broker:
        connection = KafkaConnection(broker.bootstrap)
        active = Server(connection, folders[0], more)
        standby = Server(connection, folders[1], {**more, "ksqlpy.standby": "true"})
        try:
            active.start()
            active.statements(
                "SET 'auto.offset.reset'='earliest';"
                "CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);"
                "CREATE TABLE c WITH (KAFKA_TOPIC='C', PARTITIONS=1) AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;"
            )
            send(broker, 0, 100)
            assert counts(broker, 100).total() == 100
            starting = threading.Thread(target=standby.start, daemon=True)
            starting.start()
            until(lambda: status(standby) != 0, 60)
            time.sleep(3)
            assert status(standby) == 503 and status(active) == 200
            active.kill()
            send(broker, 100, 200)
            starting.join(90)
            assert status(standby) == 200
            found = counts(broker, 200)
            assert found == Counter({(str(k), n): 1 for k in range(5) for n in range(1, 41)})
        finally:
            active.close()
            standby.close()


@pytest.mark.extended("several servers as processes")
def test_a_standby_that_nobody_wants_ends(tmp_path: Path) -> None:
    folders = [tmp_path / "active", tmp_path / "standby"]
    for folder in folders:
        folder.mkdir()
    with EmbeddedKafka() as broker:
        connection = KafkaConnection(broker.bootstrap)
        active = Server(connection, folders[0], {"ksqlpy.warm.up": "false"})
        standby = Server(connection, folders[1], {"ksqlpy.warm.up": "false", "ksqlpy.standby": "true"})
        try:
            active.start()
            starting = threading.Thread(target=_failing, args=(standby,), daemon=True)
            starting.start()
            until(lambda: status(standby) == 503, 60)
            standby.stop(seconds=30)
            starting.join(30)
            assert status(standby) == 0 and status(active) == 200
        finally:
            active.close()
            standby.close()


@pytest.mark.spark
@pytest.mark.extended("several servers as processes")
def test_a_standby_rehearses_the_queries_while_it_waits(spark: SparkSession, tmp_path: Path) -> None:
    """So the takeover finds them planned and compiled. Their results go nowhere."""
    folders = [tmp_path / "active", tmp_path / "standby"]
    for folder in folders:
        folder.mkdir()
    with EmbeddedKafka() as broker:
        active = Server(KafkaConnection(broker.bootstrap), folders[0], {"ksqlpy.warm.up": "false"})
        given = {"bootstrap.servers": broker.bootstrap, "ksqlpy.data.dir": str(folders[1]), "ksqlpy.standby": "true"}
        said: list[str] = []
        standby = Engine(Config.of(given), said.append)
        try:
            active.start()
            active.statements(
                "SET 'auto.offset.reset'='earliest';"
                "CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);"
                "CREATE TABLE c WITH (KAFKA_TOPIC='C', PARTITIONS=1) AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;"
            )
            [query] = active.queries()
            send(broker, 0, 100)
            assert counts(broker, 100).total() == 100
            starting = threading.Thread(target=_cancelled, args=(standby,), daemon=True)
            starting.start()
            jvm: Any = spark._jvm
            rehearsed, end = False, time.monotonic() + 120
            while not any(text.startswith("ready to take over") for text in said):
                assert time.monotonic() < end, f"it does not get ready: {said}"
                rehearsed |= jvm.ksqlpy.internals.Tasks.running(spark.sparkContext._jsc.sc(), f"{query}-rehearsal")
                time.sleep(0.05)
            assert rehearsed
            standby.cancel()
            starting.join(60)
            assert not starting.is_alive() and status(active) == 200
            assert counts(broker, 100) == Counter({(str(k), n): 1 for k in range(5) for n in range(1, 21)})
        finally:
            active.close()


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.extended("several servers as processes")
def test_a_server_whose_jvm_is_gone_gives_the_service_to_a_standby_that_is_ready(tmp_path: Path) -> None:
    with EmbeddedKafka() as broker:
        connection = KafkaConnection(broker.bootstrap)
        server = Server(connection, tmp_path)
        try:
            server.start()
            server.statements(
                "SET 'auto.offset.reset'='earliest';"
                "CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);"
                "CREATE TABLE c WITH (KAFKA_TOPIC='C', PARTITIONS=1) AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;"
            )
            send(broker, 0, 100)
            assert counts(broker, 100).total() == 100
            kill = server.stand_by(jvm=True)
            kill()
            send(broker, 100, 200)
            assert server.wait_for_children()[1] == [], "it ends by itself"
            server.wait_until_ready()
            assert counts(broker, 200) == Counter({(str(k), n): 1 for k in range(5) for n in range(1, 41)})
            assert "service-handed-over" in server.log.read_text(encoding="utf-8")
        finally:
            server.close()


def _cancelled(engine: Engine) -> None:
    with pytest.raises(KsqlError):
        engine.start()


def _failing(server: Server) -> None:
    with pytest.raises(Exception, match=r"ended|NoneType"):
        server.start()
