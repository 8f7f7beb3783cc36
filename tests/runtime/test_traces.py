"""A trace from a request to the results of queries: spans down to the command log, headers of records and results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Message, TopicPartition
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from ksqlpy.server.run import ServerThread
from ksqlpy.tracing import sending
from tests.support.collector import Collector, collector
from tests.support.waiting import count, enough, messages, until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GIVEN = {"traceparent": f"00-{TRACE}-{SPAN}-01", "tracestate": "a=1"}

STATEMENTS = """
CREATE STREAM rides (id INT KEY, km INT) WITH (KAFKA_TOPIC = 'traced_rides', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM far WITH (KAFKA_TOPIC = 'traced_far') AS SELECT km, id AS ride FROM rides WHERE km > 1 PARTITION BY km;
CREATE TABLE per_ride WITH (KAFKA_TOPIC = 'traced_per_ride') AS SELECT id, SUM(km) AS km FROM rides GROUP BY id;
"""


@pytest.fixture
def collected() -> Iterator[Collector]:
    with collector() as found:
        yield found


def configured(broker: EmbeddedKafka, folder: Path, **more: str) -> Config:
    own = {"bootstrap.servers": broker.bootstrap, "ksqlpy.data.dir": folder, "ksqlpy.warm.up": "false"}
    return Config.of({**own, "ksqlpy.traces.records": "true", **more})


def lying(engine: Engine, topic: str, wanted: int) -> list[Message]:
    assert until(lambda: count(engine, topic) >= wanted)
    reader = engine.kafka.reader()
    reader.assign([TopicPartition(topic, 0, 0)])
    return messages(reader, wanted)


def carried(message: Message) -> dict[str, str]:
    """The headers of a record by which its trace goes on."""
    return {name: (value or b"").decode() for name, value in message.headers() or () if name.startswith("trace")}


def test_a_request_is_traced_down_to_its_results(
    spark: SparkSession, broker: EmbeddedKafka, tmp_path: Path, collected: Collector
) -> None:
    given = {"ksqlpy.traces.endpoint": collected.url, "ksql.service.id": "traced_"}
    engine = Engine(configured(broker, tmp_path, **given))
    engine.start()

    def ask(path: str, body: dict[str, Any], trace: str) -> httpx.Response:
        headers = {"traceparent": f"00-{trace}-{SPAN}-01", "Accept": "application/json"}
        answer = httpx.post(f"{server.url}{path}", json=body, headers=headers, timeout=60, trust_env=False)
        assert answer.status_code == 200, answer.text
        return answer

    made, inserted, read, looked = (f"{n:032x}" for n in range(1, 5))
    try:
        with sending(engine.config), ServerThread(engine) as server:
            earliest = {"auto.offset.reset": "earliest"}
            ask("/ksql", {"ksql": STATEMENTS, "streamsProperties": earliest}, made)
            queries = sorted(engine.catalog.queries)
            assert until(lambda: all(engine.state(q) == "RUNNING" for q in queries))
            ask("/ksql", {"ksql": "INSERT INTO rides VALUES (1, 7);"}, inserted)
            ask("/ksql", {"ksql": "INSERT INTO rides (ROWTIME, id, km) VALUES (0, 2, 8);"}, inserted)
            rides, far = lying(engine, "traced_rides", 2), lying(engine, "traced_far", 2)
            lying(engine, "traced_per_ride", 2)
            for sql, trace in (
                ("SELECT * FROM per_ride WHERE km > 0;", read),
                ("SELECT * FROM per_ride WHERE id = 1;", looked),
            ):
                assert enough(lambda sql=sql, trace=trace: ask("/query-stream", {"sql": sql}, trace).json()[1:], 1)  # type: ignore[misc]  # of a lambda with defaults
    finally:
        engine.stop()
    tree = collected.tree(made)
    assert tree.count("POST /ksql") == 1
    for step in ("parse", "analyse/access check", "run/command log", "run/query start"):
        assert f"POST /ksql/{step}" in tree, tree
    assert tree.count("POST /ksql/run") == tree.count("POST /ksql/run/command log") == 3
    assert sorted(s.attributes["ksqlpy.query"] for s in collected.named("query start")) == queries
    assert not any(s.failed for s in collected.spans)
    written = [path for path in collected.tree(inserted) if path.endswith("/records")]
    assert written, "below the request, or below its statement where the brokers have answered by then"
    assert "POST /query-stream/pull read" in collected.tree(read)
    assert collected.named("pull read")[0].attributes["ksqlpy.source"] == "PER_RIDE"
    assert any("lookup" in path or "pull read" in path for path in collected.tree(looked))
    ids = {s.id for s in collected.spans if s.trace == inserted}
    parents = [carried(m)["traceparent"].split("-") for m in rides]
    assert [p[1] for p in parents] == [inserted] * 2 and {p[2] for p in parents} <= ids, "also of the time 0"
    assert [carried(m) for m in far] == [carried(m) for m in rides], "results go on with the trace of their record"
    words = json.dumps([[s.name, s.attributes] for s in collected.spans])
    assert "SUM" not in words and "ROWTIME" not in words, "no text of a statement is sent"


def test_records_carry_the_trace_of_their_request(spark: SparkSession, broker: EmbeddedKafka, tmp_path: Path) -> None:
    """Without a collector, by all ways of inserting; and results of all kinds of queries go on with it."""
    engine = Engine(configured(broker, tmp_path, **{"ksql.service.id": "carried_"}))
    engine.start()
    try:
        with ServerThread(engine) as server, httpx.Client(base_url=server.url, timeout=60, trust_env=False) as http:
            sql = STATEMENTS.replace("traced_", "carried_")
            assert http.post(
                "/ksql", json={"ksql": sql, "streamsProperties": {"auto.offset.reset": "earliest"}}
            ).is_success
            rows = '{"target": "rides"}\n{"id": 1, "km": 2}\n{"id": 2, "km": 3, "ROWTIME": 0}\n'
            assert http.post("/inserts-stream", content=rows, headers=GIVEN).text.count('"ok"') == 2
            assert http.post("/ksql", json={"ksql": "INSERT INTO rides VALUES (3, 4);"}, headers=GIVEN).is_success
            assert http.post("/ksql", json={"ksql": "INSERT INTO rides VALUES (4, 5);"}).is_success
            wrong = {"traceparent": GIVEN["traceparent"].upper()}
            assert http.post("/ksql", json={"ksql": "INSERT INTO rides VALUES (5, 6);"}, headers=wrong).is_success
            found = {t: lying(engine, f"carried_{t}", 5) for t in ("rides", "far", "per_ride")}
    finally:
        engine.stop()
    for topic, records in found.items():
        of_keys = {m.value(): carried(m) for m in records}
        assert sorted(map(len, of_keys.values())) == [0, 0, 2, 2, 2], topic
        assert all(c in ({}, GIVEN) for c in of_keys.values()), topic
