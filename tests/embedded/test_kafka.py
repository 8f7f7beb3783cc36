"""A real broker: it works, it says what is wrong, and it never outlives us."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import EnvironmentProblem
from tests.support.waiting import until

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka() as kafka:
        yield kafka


def create(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(10)


def gone(pid: int, within: float) -> bool:
    def ended() -> bool:
        return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE

    return until(ended, within, every=0.05)


def test_produce_and_consume(broker: EmbeddedKafka) -> None:
    create(broker.bootstrap, "t")
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce("t", key=b"k", value=b"v", timestamp=1234)
    assert producer.flush(10) == 0
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["t"])
    record = consumer.poll(10)
    consumer.close()
    assert record is not None and record.error() is None
    assert (record.key(), record.value(), record.timestamp()[1]) == (b"k", b"v", 1234)


def test_only_this_machine_can_reach_it(broker: EmbeddedKafka) -> None:
    listening = {c.laddr.ip for c in psutil.Process(broker.pid).net_connections() if c.status == psutil.CONN_LISTEN}
    assert {ip.removeprefix("::ffff:") for ip in listening} == {"127.0.0.1"}


def test_unknown_topics_are_not_created(broker: EmbeddedKafka) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    assert admin.list_topics("nobody", timeout=10).topics["nobody"].error is not None


def test_port_in_use() -> None:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = s.getsockname()[1]
        with pytest.raises(EnvironmentProblem, match=f"port {port} .* is in use") as e:
            EmbeddedKafka(port=port).start()
    assert e.value.code == "port-in-use"
    assert e.value.hint is not None and f"bootstrap.servers=127.0.0.1:{port}" in e.value.hint


def test_kept_folder(tmp_path: Path) -> None:
    """The second start finds topics, cluster and port again; meanwhile nobody else gets the folder."""
    with EmbeddedKafka(folder=tmp_path) as first:
        bootstrap = first.bootstrap
        create(first.bootstrap, "kept")
        cluster = AdminClient({"bootstrap.servers": first.bootstrap}).list_topics(timeout=10).cluster_id
        with pytest.raises(EnvironmentProblem, match=f"in use by another broker, started by process {os.getpid()}"):
            EmbeddedKafka(folder=tmp_path).start()
    with EmbeddedKafka(folder=tmp_path) as second:
        metadata = AdminClient({"bootstrap.servers": second.bootstrap}).list_topics(timeout=10)
        assert "kept" in metadata.topics
        assert metadata.cluster_id == cluster
        assert second.bootstrap == bootstrap
        assert second.log_file.stat().st_size > 0


def test_temporary_folder_goes_with_the_broker() -> None:
    kafka = EmbeddedKafka().start()
    folder, pid = kafka.folder, kafka.pid
    assert (folder / "kafka").is_dir()
    kafka.stop()
    kafka.stop()
    assert not folder.exists()
    assert gone(pid, 0)


def test_broker_that_dies_at_its_start_shows_its_log() -> None:
    with pytest.raises(EnvironmentProblem, match="ended with status 1 at its start") as e:
        EmbeddedKafka(settings={"log.segment.bytes": "many"}).start()
    assert e.value.code == "broker-not-started"
    assert e.value.hint is not None and "log.segment.bytes" in e.value.hint


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_orphan(number: signal.Signals) -> None:
    """The broker and its temporary folder go when the process that started them is killed."""
    script = (
        "import time\nfrom ksqlpy.embedded.kafka import EmbeddedKafka\n"
        "k = EmbeddedKafka().start()\nprint(k.pid, k.folder, flush=True)\ntime.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid, folder = parent.stdout.readline().split()
        guard = psutil.Process(int(pid)).ppid()
        parent.send_signal(number)
        parent.wait(10)
    assert gone(int(pid), 10)
    assert gone(guard, 10)
    assert not Path(folder).exists()
