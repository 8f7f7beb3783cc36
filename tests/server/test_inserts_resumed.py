"""POST /inserts-stream with an id, on a real server: each row is in the topic once, whatever ended before."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.server.run import ServerThread
from ksqlpy.spark.kafka import Kafka
from tests.harness.server import Server
from tests.server.test_inserts_stream import Talk
from tests.support.real_server import real_server
from tests.support.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@pytest.fixture(scope="module")
def server(
    spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerThread]:
    with real_server(broker, tmp_path_factory.mktemp("data"), "resumed_") as running:
        yield running


@pytest.fixture
def numbers(server: ServerThread) -> Iterator[str]:
    """A stream of numbers, which is gone with its topic behind the test."""
    server.backend.engine.execute(
        "CREATE STREAM numbers (n INT) WITH (KAFKA_TOPIC='numbers', VALUE_FORMAT='JSON', PARTITIONS=1);"
    )
    yield "numbers"
    server.backend.engine.execute("DROP STREAM numbers DELETE TOPIC;")


def post(server: ServerThread, first: Mapping[str, object], *rows: object) -> list[dict[str, Any]]:
    content = "\n".join(json.dumps(line) for line in ({"target": "numbers", "id": "loader", **first}, *rows))
    answer = httpx.post(f"{server.url}/inserts-stream", content=content.encode(), timeout=60, trust_env=False)
    return [json.loads(line) for line in answer.text.splitlines()]


def count(*numbers: int) -> list[dict[str, int]]:
    return [{"n": n} for n in numbers]


def ok(*numbers: int) -> list[dict[str, Any]]:
    return [{"status": "ok", "seq": n} for n in numbers]


def there(rows: int) -> dict[str, Any]:
    return {"status": "ok", "id": "loader", "rows": rows}


def committed(broker: EmbeddedKafka, partitions: int = 1) -> list[list[int]]:
    """The numbers in each partition, without those of transactions that were aborted."""
    kafka = Kafka(KafkaConnection(broker.bootstrap))
    ends = kafka.offsets({"numbers": partitions}, latest=True, committed=False)["numbers"]
    found: list[list[int]] = []
    for partition in range(partitions):
        values = kafka._records("numbers", {partition: 0}, ends[str(partition)] + 1, 30, committed=True)
        found.append([json.loads(value or b"")["N"] for _, value in values])
    return found


def test_it_goes_on(server: ServerThread, numbers: str, broker: EmbeddedKafka) -> None:
    assert post(server, {}, *count(0, 1, 2)) == [there(0), *ok(0, 1, 2)]
    assert post(server, {}, *count(3)) == [there(3), *ok(3)]
    assert post(server, {"seq": 0}, *count(*range(6))) == [there(4), *ok(*range(6))]
    assert post(server, {"seq": 5}, *count(5)) == [there(6), *ok(5)]
    assert post(server, {"seq": 6}) == [there(6)]
    assert post(server, {"id": "other"}, *count(6)) == [{**there(0), "id": "other"}, *ok(0)]
    assert committed(broker) == [[*range(7)]]
    [refused] = post(server, {"seq": 7}, *count(7))
    assert (refused["error_code"], refused["ksqlpy"]["code"]) == (40000, "rows-missing")
    assert "6 rows of id loader are there" in refused["message"]
    form = {"Accept": "application/json"}
    asked = {"sql": "SELECT n FROM numbers;"}
    answer = httpx.post(f"{server.url}/query-stream", json=asked, headers=form, timeout=60, trust_env=False)
    assert answer.json()[1:] == [[n] for n in range(7)]


def test_a_bad_row_is_the_next_one(server: ServerThread, numbers: str, broker: EmbeddedKafka) -> None:
    first, *good, bad = post(server, {}, *count(0, 1), {"n": "two"}, *count(3))
    assert (first, good, bad["seq"], bad["error_code"]) == (there(0), ok(0, 1), 2, 40000)
    bad = post(server, {}, {"n": 2, "ROWTIME": 0})[-1]
    assert (bad["seq"], bad["error_code"], bad["message"]) == (2, 40000, "ROWTIME 0 needs a stream without an id")
    assert post(server, {"seq": 0}, *count(0, 1, 2, 3)) == [there(2), *ok(0, 1, 2, 3)]
    assert committed(broker) == [[0, 1, 2, 3]]


def test_the_younger_of_two_connections_goes_on(server: ServerThread, numbers: str, broker: EmbeddedKafka) -> None:
    first = {"target": "numbers", "id": "loader"}
    older, younger = Talk(server), Talk(server)
    older.send(first, *count(0, 1))
    assert older.read(3) == [there(0), *ok(0, 1)]
    younger.send(first)
    assert younger.read(1) == [there(2)]
    older.send(*count(2))
    [refused] = older.read(1)
    assert (refused["status"], refused["seq"], refused["error_code"]) == ("error", 2, 40900)
    younger.send(*count(2))
    assert younger.read(1) == ok(2)
    older.close()
    younger.close()
    assert committed(broker) == [[0, 1, 2]]


def test_queries_read_on_behind_the_marks_of_its_transactions(server: ServerThread, numbers: str) -> None:
    engine = server.backend.engine
    engine.execute(
        "SET 'auto.offset.reset' = 'earliest';"
        "CREATE TABLE parities AS SELECT n % 2 AS parity, COUNT(*) AS found FROM numbers GROUP BY n % 2;"
    )
    for n in range(5):
        post(server, {}, *count(n))

    def found() -> tuple[object, list[int]]:
        with httpx.Client(base_url=server.url, timeout=60, trust_env=False) as http:
            asked = {"sql": "SELECT found FROM parities WHERE parity = 0;"}
            rows = http.post("/query-stream", json=asked, headers={"Accept": "application/json"}).json()[1:]
            [host] = http.get("/clusterStatus").json()["clusterStatus"].values()
        stores = host["hostStoreLags"]["stateStoreLags"].values()
        return rows, [lag["offsetLag"] for store in stores for lag in store["lagByPartition"].values()]

    assert until(lambda: found() == ([[3]], [0])), found()
    engine.execute("DROP TABLE parities DELETE TOPIC;")


class Loader(threading.Thread):
    """Learns how far its id came, and sends the numbers behind that, up to ``end``, until the connection ends."""

    def __init__(self, url: str, end: int) -> None:
        super().__init__(daemon=True)
        self._end = end
        self.standing: int | None = None
        self.acked = self.sent = 0
        parsed = httpx.URL(url)
        self._socket = socket.create_connection((parsed.host, parsed.port or 0), timeout=60)
        head = "POST /inserts-stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        self._socket.sendall(head.encode())
        self._reading = threading.Thread(target=self._read, daemon=True)

    def run(self) -> None:
        self._reading.start()
        try:
            self._send('{"target": "numbers", "id": "loader"}\n')
            assert until(lambda: self.standing is not None)
            for begin in range(self.standing or 0, self._end, 100):
                end = min(begin + 100, self._end)
                self._send("".join(f'{{"n": {n}}}\n' for n in range(begin, end)))
                self.sent = end
            self._socket.sendall(b"0\r\n\r\n")
        except OSError:
            pass
        self._reading.join()

    def _send(self, text: str) -> None:
        self._socket.sendall(b"%x\r\n%s\r\n" % (len(text), text.encode()))

    def _read(self) -> None:
        """Lines never end in the midst of a chunk, and its head is a line of its own."""
        rest = b""
        try:
            while data := self._socket.recv(65_536):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    if line.startswith(b"{"):
                        told = json.loads(line)
                        assert told["status"] == "ok", told
                        self.acked = told["rows"] if "rows" in told else told["seq"] + 1
                        self.standing = self.acked if self.standing is None else self.standing
        except OSError:
            pass


def _has_acked(loader: Loader, rows: int) -> bool:
    return loader.acked > rows


@pytest.mark.extended("a server as a process, killed again and again")
@pytest.mark.parametrize("partitions", [1, 3])
def test_a_server_that_is_killed_again_and_again(broker: EmbeddedKafka, tmp_path: Path, partitions: int) -> None:
    settings = {"ksqlpy.warm.up": "false", "ksql.service.id": f"killed_{partitions}_"}
    server = Server(KafkaConnection(broker.bootstrap), tmp_path, settings)
    total, acked, sent = 150_000, 0, 0
    server.start()
    server.statements(
        f"CREATE STREAM numbers (n INT) WITH (KAFKA_TOPIC='numbers', VALUE_FORMAT='JSON', PARTITIONS={partitions});"
    )
    for kills in range(1, 4):
        loader = Loader(server.url, total)
        loader.start()
        assert until(partial(_has_acked, loader, kills * 25_000))
        server.kill()
        loader.join()
        assert loader.standing is not None and acked <= loader.standing <= sent
        acked, sent = loader.acked, loader.sent
        assert acked < total
        server.start()
    last = Loader(server.url, total)
    last.start()
    last.join()
    assert last.acked == total
    server.statements("DROP STREAM numbers;")
    server.stop()
    found = committed(broker, partitions)
    assert sorted(n for each in found for n in each) == list(range(total))
    assert all(each == sorted(each) for each in found)
    Kafka(KafkaConnection(broker.bootstrap)).delete_topics(["numbers"])
