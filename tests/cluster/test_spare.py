"""A server on a cluster whose driver dies goes on in its spare JVM, without a double."""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from tests.harness.server import Server
from tests.support.waiting import messages

pytestmark = [pytest.mark.kafka, pytest.mark.extended("a Spark cluster")]

PATIENCE = 240.0


@pytest.fixture
def broker() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka() as running:
        yield running


@pytest.fixture
def server(broker: EmbeddedKafka, tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "shared").mkdir()
    more = {
        "ksqlpy.spark.master": "local-cluster[2,8,1024]",
        "ksqlpy.checkpoint.dir": (tmp_path / "shared").as_uri(),
        "ksqlpy.spark.conf.spark.executor.memory": "700m",
        "ksql.streams.auto.offset.reset": "earliest",
        "ksql.streams.commit.interval.ms": "3000",
    }
    running = Server(KafkaConnection(broker.bootstrap), tmp_path, more)
    try:
        running.start()
        yield running
    finally:
        running.close()


def named(server: Server, part: str) -> list[psutil.Process]:
    """The children of the server with this in their command line, oldest first."""
    found = []
    for process in psutil.Process(server.pid).children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if any(part in word for word in process.cmdline()):
                found.append(process)
    return sorted(found, key=lambda process: process.create_time())


def warm_spare(server: Server) -> psutil.Process:
    """The spare of the server, when its warm-up has begun and ended."""
    begun, end = False, time.monotonic() + PATIENCE
    while time.monotonic() < end:
        warming, jvms = named(server, "spare_warmup"), named(server, "deploy.SparkSubmit")
        if begun and not warming and len(jvms) == 2:
            return jvms[1]
        begun = begun or bool(warming)
        time.sleep(0.1)
    raise AssertionError(f"no spare is ready after {PATIENCE:g} s")


def read(broker: EmbeddedKafka, wanted: int) -> list[int]:
    """The results, when so many are there, and none has come for some seconds."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "test", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition("PASSED", p, 0) for p in range(2)])
    return [int(json.loads(m.value() or b"null")["N"]) for m in messages(consumer, wanted, PATIENCE, quiet=3)]


def send(broker: EmbeddedKafka, first: int, last: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for n in range(first, last):
        producer.produce("s", key=str(n % 7), value=json.dumps({"N": n}))
    producer.flush()


def test_the_next_driver_is_the_spare(server: Server, broker: EmbeddedKafka) -> None:
    server.statements(
        "CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=2);"
        "CREATE STREAM passed WITH (PARTITIONS=2) AS SELECT k, n FROM s WHERE n >= 0;"
    )
    send(broker, 0, 200)
    assert len(read(broker, 200)) == 200
    spare = warm_spare(server)
    server.kill_jvm()
    send(broker, 200, 400)
    assert Counter(read(broker, 400)) == Counter(range(400))
    assert named(server, "deploy.SparkSubmit")[0].pid == spare.pid
    server.stop()
    assert not spare.is_running()
