"""What surrounds a server: a JVM that is stopped, a folder with a blank in its name, neighbours who read files."""

from __future__ import annotations

import json
import os
import signal
import stat
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka import Producer

from ksqlpy.client import Client
from ksqlpy.connection import KafkaConnection
from tests.harness.broker import Broker
from tests.harness.server import Server, drivers
from tests.support.waiting import until


def health(server: Server) -> dict[str, Any]:
    """What /healthcheck says; it has five seconds for it."""
    try:
        with urllib.request.urlopen(f"{server.url}/healthcheck", timeout=5) as answer:
            found: dict[str, Any] = json.load(answer)
    except urllib.error.HTTPError as e:
        found = json.load(e)
    return found


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.extended("a server as a process, whose JVM is stopped")
def test_an_embedded_broker_that_ends_is_started_again(tmp_path: Path) -> None:
    server = Server(KafkaConnection(""), tmp_path)
    try:
        server.start()
        server.statements("CREATE STREAM s (n INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);")
        server.statements("CREATE TABLE t AS SELECT n, COUNT(*) AS c FROM s GROUP BY n;")
        server.statements("INSERT INTO s VALUES (1);", 60)
        assert until(lambda: set(server.queries().values()) == {"RUNNING"})
        children = psutil.Process(server.pid).children(recursive=True)
        (broker,) = (c for c in children if "kafka.Kafka" in " ".join(c.cmdline()) and "java" in c.name())
        broker.kill()
        server.statements("INSERT INTO s VALUES (1);", 60)

        def counted() -> list[Any]:
            return list(Client(server.url).push("SELECT c FROM t WHERE n = 1;"))[1:]

        assert until(lambda: counted() == [[2]])
    finally:
        server.close()


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.extended("a server as a process, whose JVM is stopped")
def test_surroundings(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "broker")
    broker.start()
    folder = tmp_path / "with a blank"
    folder.mkdir()
    server = Server(KafkaConnection(broker.bootstrap), folder)
    try:
        server.start()
        server.statements("CREATE STREAM s (n INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);")
        server.statements("CREATE STREAM t AS SELECT n FROM s;")
        assert until(lambda: set(server.queries().values()) == {"RUNNING"})
        assert health(server)["isHealthy"]
        (jvm,) = drivers(psutil.Process(server.pid).children(recursive=True))
        os.kill(jvm.pid, signal.SIGSTOP)
        try:
            told = health(server)
            assert not told["isHealthy"]
            assert not told["details"]["spark"]["isHealthy"]
            assert health(server)["details"]["kafka"]["isHealthy"]
        finally:
            os.kill(jvm.pid, signal.SIGCONT)
        assert until(lambda: health(server)["isHealthy"])
        written = [
            f for f in folder.rglob("*") if not f.is_symlink() and f not in (server.log, folder / "server.properties")
        ]
        open_to_others = [f for f in written if f.exists() and stat.S_IMODE(f.lstat().st_mode) & 0o077]
        assert len(written) > 20
        assert open_to_others == []
    finally:
        server.close()
        broker.end()


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.extended("a server as a process, whose JVM is stopped")
def test_the_jvm_of_a_killed_server_leaves_no_crash_file(tmp_path: Path) -> None:
    """States are not closed under tasks that still use them: RocksDB crashes then, about one time in three."""
    broker = Broker(tmp_path / "broker")
    broker.start()
    server = Server(KafkaConnection(broker.bootstrap), tmp_path)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "queue.buffering.max.messages": 1_000_000})
    try:
        server.start()
        server.statements("CREATE STREAM s (n INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=4);")
        for name in "tuv":
            server.statements(f"CREATE TABLE {name} AS SELECT n, COUNT(*) AS c FROM s GROUP BY n;")
        for _ in range(3):
            assert until(lambda: set(server.queries().values()) == {"RUNNING"}, 180)
            for number in range(200_000):
                producer.produce("s", value=f'{{"n": {number}}}'.encode())
                producer.poll(0)
            assert producer.flush(60) == 0
            server.kill()
            _, left = server.wait_for_children()
            assert left == []
            assert [f.name for f in tmp_path.rglob("*crash*")] == []
            server.start()
    finally:
        server.close()
        broker.end()
