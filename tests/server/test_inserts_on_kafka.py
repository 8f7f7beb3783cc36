"""POST /inserts-stream on a real server: what queries see of the rows, and how far a killed server came."""

from __future__ import annotations

import itertools
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from confluent_kafka import Consumer, TopicPartition

from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.server.run import ServerThread
from tests.harness.server import Server
from tests.support.real_server import real_server
from tests.support.waiting import messages, until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@pytest.fixture(scope="module")
def server(
    spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerThread]:
    with real_server(broker, tmp_path_factory.mktemp("data"), "inserts_") as running:
        yield running


def post(url: str, target: str, *rows: object) -> list[dict[str, Any]]:
    content = "\n".join(json.dumps(line) for line in ({"target": target}, *rows))
    answer = httpx.post(f"{url}/inserts-stream", content=content.encode(), timeout=60, trust_env=False)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def test_queries_see_the_rows(server: ServerThread) -> None:
    def ask(sql: str) -> list[Any]:
        accept = {"Accept": "application/json"}
        answer = httpx.post(
            f"{server.url}/query-stream", json={"sql": sql}, headers=accept, timeout=60, trust_env=False
        )
        assert answer.status_code == 200, answer.text
        return list(answer.json()[1:])

    server.backend.engine.execute(
        "CREATE STREAM rides (city STRING KEY, began TIMESTAMP, fare DECIMAL(6, 2), tags ARRAY<STRING>)"
        " WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON', PARTITIONS = 2);"
        "SET 'auto.offset.reset' = 'earliest';"
        "CREATE TABLE fares AS SELECT city, COUNT(*) AS n, SUM(fare) AS total FROM rides GROUP BY city;"
    )
    rows = [
        {"city": "Oslo", "began": "2024-05-06T07:08:09.123", "fare": 12.50, "tags": ["a", None], "ROWTIME": 0},
        {"CITY": "Bergen", "fare": "0.10", "rowtime": 1_700_000_000_000},
        {"city": "Oslo", "fare": 1},
    ]
    assert [a["status"] for a in post(server.url, "rides", *rows)] == ["ok"] * 3
    found = ask("SELECT * FROM rides WHERE city = 'Oslo' AND fare > 2;")
    assert found == [["Oslo", "2024-05-06T07:08:09.123", 12.5, ["a", None]]]
    assert ask("SELECT ROWTIME FROM rides WHERE ROWTIME < 1750000000000;") in ([[0], [1_700_000_000_000]],
                                                                                [[1_700_000_000_000], [0]])  # fmt: skip
    assert until(lambda: ask("SELECT * FROM fares WHERE city = 'Oslo';") == [["Oslo", 2, 13.5]])
    bad = post(server.url, "fares", {"city": None, "n": 1})
    assert (bad[0]["status"], bad[0]["error_code"]) == ("error", 40000)


class Sender(threading.Thread):
    """Sends numbered rows as fast as they are taken, and counts the acknowledgements, until the connection ends."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.acked = 0
        self.sent = 0
        parsed = httpx.URL(url)
        self._socket = socket.create_connection((parsed.host, parsed.port or 0), timeout=60)
        head = "POST /inserts-stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        self._socket.sendall(head.encode())
        self._reading = threading.Thread(target=self._read, daemon=True)

    def run(self) -> None:
        self._reading.start()
        try:
            self._send('{"target": "numbers"}\n')
            for begin in itertools.count(0, 100):
                self._send("".join(f'{{"n": {n}}}\n' for n in range(begin, begin + 100)))
                self.sent = begin + 100
        except OSError:
            pass
        self._reading.join()

    def _send(self, text: str) -> None:
        self._socket.sendall(b"%x\r\n%s\r\n" % (len(text), text.encode()))

    def _read(self) -> None:
        try:
            while data := self._socket.recv(65_536):
                self.acked += data.count(b'"ok"')
        except OSError:
            pass


@pytest.mark.extended("a server as a process, killed")
def test_a_killed_server_has_what_it_acknowledged_once_and_in_order(broker: EmbeddedKafka, tmp_path: Path) -> None:
    settings = {"ksqlpy.warm.up": "false", "ksql.service.id": "killed_"}
    server = Server(KafkaConnection(broker.bootstrap), tmp_path, settings)
    server.start()
    server.statements("CREATE STREAM numbers (n INT) WITH (KAFKA_TOPIC='numbers', VALUE_FORMAT='JSON', PARTITIONS=1);")
    sender = Sender(server.url)
    sender.start()
    assert until(lambda: sender.acked > 20_000)
    server.kill()
    sender.join()
    time.sleep(1)
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "none", "enable.auto.commit": False})
    _, end = consumer.get_watermark_offsets(TopicPartition("numbers", 0), timeout=20)
    consumer.assign([TopicPartition("numbers", 0, 0)])
    found = [json.loads(m.value() or b"")["N"] for m in messages(consumer, end)]
    assert found == list(range(end))
    assert sender.acked <= end <= sender.sent
    server.start()
    assert post(server.url, "numbers", {"n": end})[0] == {"status": "ok", "seq": 0}
    server.stop()
