"""POST /inserts-stream on a real server: what queries see of the rows, and how far a killed server came."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from confluent_kafka import Consumer, TopicPartition

from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.server.run import ServerThread
from tests.support.real_server import real_server
from tests.support.sent_rows import Numbers, numbers_server, post_rows
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
    assert [a["status"] for a in post_rows(server.url, {"target": "rides"}, *rows)] == ["ok"] * 3
    found = ask("SELECT * FROM rides WHERE city = 'Oslo' AND fare > 2;")
    assert found == [["Oslo", "2024-05-06T07:08:09.123", 12.5, ["a", None]]]
    assert ask("SELECT ROWTIME FROM rides WHERE ROWTIME < 1750000000000;") in ([[0], [1_700_000_000_000]],
                                                                                [[1_700_000_000_000], [0]])  # fmt: skip
    assert until(lambda: ask("SELECT * FROM fares WHERE city = 'Oslo';") == [["Oslo", 2, 13.5]])
    bad = post_rows(server.url, {"target": "fares"}, {"city": None, "n": 1})
    assert (bad[0]["status"], bad[0]["error_code"]) == ("error", 40000)


@pytest.mark.extended("a server as a process, killed")
def test_a_killed_server_has_what_it_acknowledged_once_and_in_order(broker: EmbeddedKafka, tmp_path: Path) -> None:
    server = numbers_server(broker, tmp_path, "killed_")
    sender = Numbers(server.url)
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
    assert post_rows(server.url, {"target": "numbers"}, {"n": end})[0] == {"status": "ok", "seq": 0}
    server.stop()
