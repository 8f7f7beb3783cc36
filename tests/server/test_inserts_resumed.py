"""POST /inserts-stream with an id, on a real server: each row is in the topic once, whatever ended before."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from ksqlpy.client import Client, RowRefused
from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.server.run import ServerThread
from ksqlpy.spark.kafka import Kafka
from tests.server.test_inserts_stream import Talk
from tests.support.real_server import real_server
from tests.support.sent_rows import Numbers, numbers_server, post_rows
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
    return post_rows(server.url, {"target": "numbers", "id": "loader", **first}, *rows)


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


def test_our_client_goes_on(server: ServerThread, numbers: str, broker: EmbeddedKafka) -> None:
    with Client(server.url) as client:
        assert list(client.inserts("numbers", count(0, 1, 2), id="loader")) == [0, 3]
        assert list(client.inserts("numbers", count(*range(5)), id="loader")) == [3, 5]
        with pytest.raises(RowRefused, match="is no number") as e:
            list(client.inserts("numbers", [*count(*range(6)), {"n": "six"}], id="loader"))
        assert e.value.row == 6
        there = list(client.inserts("numbers", count(*range(25_000)), id="loader"))
        assert (there[0], there[-1], there == sorted(there)) == (6, 25_000, True) and len(there) > 2
    assert committed(broker) == [[*range(25_000)]]


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


def _has_acked(loader: Numbers, rows: int) -> bool:
    return loader.acked > rows


@pytest.mark.extended("a server as a process, killed again and again")
@pytest.mark.parametrize("partitions", [1, 3])
def test_a_server_that_is_killed_again_and_again(broker: EmbeddedKafka, tmp_path: Path, partitions: int) -> None:
    total, acked, sent = 150_000, 0, 0
    server = numbers_server(broker, tmp_path, f"killed_{partitions}_", partitions)
    for kills in range(1, 4):
        loader = Numbers(server.url, "loader", total)
        loader.start()
        assert until(partial(_has_acked, loader, kills * 25_000))
        server.kill()
        loader.join()
        assert loader.standing is not None and acked <= loader.standing <= sent
        acked, sent = loader.acked, loader.sent
        assert acked < total
        server.start()
    last = Numbers(server.url, "loader", total)
    last.start()
    last.join()
    assert last.acked == total
    server.statements("DROP STREAM numbers;")
    server.stop()
    found = committed(broker, partitions)
    assert sorted(n for each in found for n in each) == list(range(total))
    assert all(each == sorted(each) for each in found)
    Kafka(KafkaConnection(broker.bootstrap)).delete_topics(["numbers"])
