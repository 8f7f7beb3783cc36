"""A server on a Spark cluster: each result once through the death of executors, figures, slots, and what is refused."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.embedded.spark_home import spark_home
from tests.harness.server import Server
from tests.support.waiting import messages, until

pytestmark = [pytest.mark.kafka, pytest.mark.extended("a Spark cluster")]

MASTER = "local-cluster[2,8,1024]"
PATIENCE = 180.0


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka() as running:
        yield running


@pytest.fixture(scope="module")
def server(broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "shared").mkdir()
    # A file system that is there by settings of the session only, as s3a:// with its keys.
    link = "ksqlpy.spark.conf.spark.hadoop.fs.viewfs.mounttable.tests.link./checkpoints"
    more = {
        "ksqlpy.spark.master": MASTER,
        "ksqlpy.checkpoint.dir": "viewfs://tests/checkpoints",
        link: (folder / "shared").as_uri(),
        "ksqlpy.spark.conf.spark.executor.memory": "700m",
        "ksqlpy.warm.up": "false",
        "ksql.streams.auto.offset.reset": "earliest",
        "ksql.streams.commit.interval.ms": "3000",
    }
    running = Server(KafkaConnection(broker.bootstrap), folder, more)
    try:
        running.start()
        yield running
    finally:
        running.close()


def executors(server: Server) -> list[psutil.Process]:
    found = []
    for process in psutil.Process(server.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
            if any("CoarseGrainedExecutorBackend" in part for part in process.cmdline()):
                found.append(process)
    return found


def send(broker: EmbeddedKafka, topic: str, first: int, last: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for n in range(first, last):
        producer.produce(topic, key=str(n % 7), value=json.dumps({"N": n}))
        if n % 50 == 0:
            producer.flush()
            time.sleep(0.02)
    producer.flush()


def read(broker: EmbeddedKafka, topic: str, wanted: int, partitions: int = 3) -> list[tuple[str, dict[str, int]]]:
    """All records of a topic, when so many are there, and none has come for some seconds."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "test", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
    found = messages(consumer, wanted, PATIENCE, quiet=4)
    return [((m.key() or b"").decode(), json.loads(m.value() or b"null")) for m in found]


def told(server: Server) -> str:
    """What server, driver and executors have logged last, and which executors there are: why results may be missing."""
    for process in psutil.Process(server.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.name() == "java":
                process.send_signal(signal.SIGQUIT)  # it prints its stacks; the driver does that in the server's log
    time.sleep(2)
    data = server.log.parent.glob("data-*/spark/spark.log")
    runs = sorted((spark_home() / "work").glob("app-*"), key=lambda run: run.stat().st_mtime)
    logs = [*data, *(log for run in runs[-1:] for log in run.glob("*/std*")), server.log]
    ends = [f"== {log.parent.name}/{log.name}\n{log.read_text(errors='replace')[-6000:]}" for log in logs]
    return "\n".join([*ends, f"executors: {executors(server)}"])


def wrong(found: Counter[int], due: Counter[int]) -> dict[str, list[int]]:
    """Some of what is missing, and of what is there twice."""
    return {"missing": sorted((due - found).elements())[:20], "twice": sorted((found - due).elements())[:20]}


def test_each_result_comes_once_though_executors_die_and_freeze(server: Server, broker: EmbeddedKafka) -> None:
    server.statements(
        "CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=3);"
        "CREATE STREAM passed WITH (PARTITIONS=3) AS SELECT k, n FROM s WHERE n >= 0;"
        "CREATE TABLE counts WITH (PARTITIONS=3) AS SELECT k, COUNT(*) AS c, SUM(n) AS total FROM s GROUP BY k;"
    )
    send(broker, "s", 0, 500)
    assert len(read(broker, "PASSED", 500)) == 500
    os.kill(executors(server)[0].pid, signal.SIGKILL)
    send(broker, "s", 500, 1000)
    assert len(read(broker, "PASSED", 1000)) == 1000
    frozen = executors(server)[-1]
    frozen.send_signal(signal.SIGSTOP)
    send(broker, "s", 1000, 1500)
    passed = read(broker, "PASSED", 1500)
    if len(passed) < 1500:
        print(told(server))
    with contextlib.suppress(psutil.NoSuchProcess):
        frozen.send_signal(signal.SIGCONT)
    send(broker, "s", 1500, 1600)
    passed = read(broker, "PASSED", 1600)
    assert wrong(Counter(row["N"] for _, row in passed), Counter(range(1600))) == {"missing": [], "twice": []}
    counts = read(broker, "COUNTS", 1600)
    for key in map(str, range(7)):
        assert [row["C"] for k, row in counts if k == key] == list(range(1, 1 + len(range(int(key), 1600, 7))))
        assert [row for k, row in counts if k == key][-1]["TOTAL"] == sum(range(int(key), 1600, 7))


def test_figures_come_from_the_executors(server: Server) -> None:
    def described() -> dict[str, Any]:
        description: dict[str, Any] = server.statements("DESCRIBE passed EXTENDED;")[0]["sourceDescription"]
        return description

    until(lambda: described()["statistics"], every=0.5)
    assert "1600" in json.dumps(described()), described()


def test_the_doctor_asks_the_executors(broker: EmbeddedKafka, tmp_path: Path) -> None:
    given = {
        "bootstrap.servers": broker.bootstrap,
        "ksqlpy.spark.master": "local-cluster[2,2,1024]",
        "ksqlpy.checkpoint.dir": tmp_path.as_uri(),
        "ksqlpy.spark.conf.spark.executor.memory": "700m",
    }
    defines = [part for name, value in given.items() for part in ("-D", f"{name}={value}")]
    said = subprocess.run(
        [sys.executable, "-m", "ksqlpy", "doctor", *defines], capture_output=True, text=True, timeout=PATIENCE
    )
    assert said.returncode == 0, said.stdout + said.stderr
    assert re.search(
        r"^ok    executors: 0 at 127.0.0.1:\d+ \(at most [\d,]+ open files\), 1 at 127.0.0.1:\d+ \(", said.stdout, re.M
    )
    assert "ok    task slots: 4\n" in said.stdout
