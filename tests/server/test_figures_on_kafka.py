"""GET /figures, /graph and /check of a real server with a query that runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.server.run import ServerThread
from tests.support.real_server import real_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

START = """
CREATE STREAM figured (city STRING KEY, id INT) WITH (KAFKA_TOPIC = 'figured', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM far WITH (QUERY_ID = 'far_ones') AS SELECT city, id FROM figured WHERE id > 1;
"""


@pytest.fixture(scope="module")
def server(
    spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerThread]:
    with real_server(broker, tmp_path_factory.mktemp("data"), "figured_") as running:
        running.backend.engine.execute(START, {"auto.offset.reset": "earliest"})
        rows = "".join(f"INSERT INTO figured VALUES ('Oslo', {n});" for n in range(5))
        running.backend.engine.execute(rows)
        yield running


@pytest.fixture
def http(server: ServerThread) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=60, trust_env=False) as client:
        yield client


def merged(known: dict[str, Any], line: dict[str, Any]) -> dict[str, Any]:
    """As a page does it."""
    for name in ("queries", "topics"):
        for key, figures in line.get(name, {}).items():
            known.setdefault(name, {}).setdefault(key, {}).update(figures)
    known.setdefault("server", {}).update(line.get("server", {}))
    return known


def test_what_a_query_does_is_told_while_it_does_it(server: ServerThread, http: httpx.Client) -> None:
    known: dict[str, Any] = {}
    sent = 5
    with http.stream("GET", "/figures?limit=120") as answer:
        for text in answer.iter_lines():
            query = merged(known, json.loads(text))["queries"].get("FAR_ONES", {})
            if (query.get("rowsIn"), query.get("rowsOut"), query.get("lag")) != (sent, sent - 2, 0):
                continue
            if query.get("p99") is not None and query.get("readRates"):
                break
            # Only rows that come while the query waits for them have a latency.
            server.backend.engine.execute(f"INSERT INTO figured VALUES ('Oslo', {sent});")
            sent += 1
        else:
            pytest.fail(f"not in 120 seconds: {query}")
    assert (query["state"], query["error"], query["deadLetters"], query["restarts"]) == ("RUNNING", None, 0, 0)
    assert query["readRates"].keys() == {"figured"}
    assert known["topics"].keys() == {"figured", "FAR"}
    told = known["server"]
    assert told["heapUsed"] > 0 and told["memory"] > 0 and told["slotsUsed"] >= 1 and told["watchers"] == 1
    hour = http.get("/figures/history?query=FAR_ONES").json()
    assert hour["times"] and hour["series"]["lag"][-1] == 0


def test_the_graph_of_a_real_server(http: httpx.Client) -> None:
    told = http.get("/graph").json()
    nodes = {node["id"]: node for node in told["nodes"]}
    assert nodes.keys() == {"topic:figured", "source:FIGURED", "query:FAR_ONES", "topic:FAR", "source:FAR"}
    assert nodes["topic:FAR"]["partitions"] == 1 and nodes["query:FAR_ONES"]["state"] == "RUNNING"
    assert http.get("/graph").json()["version"] == told["version"]
    assert http.post("/ksql", json={"ksql": "CREATE TYPE t AS INT;"}).status_code == 200
    assert http.get("/graph").json()["version"] != told["version"]


def test_texts_are_checked_with_the_topics_of_the_brokers(http: httpx.Client) -> None:
    text = (
        "SELECT * FROM far EMIT CHANGES; PRINT 'figured'; PRINT 'none';"
        " CREATE STREAM other (id INT KEY) WITH (KAFKA_TOPIC = 'none', VALUE_FORMAT = 'JSON');"
    )
    told = http.post("/check", json={"text": text}).json()
    assert [d["code"] for d in told["diagnostics"]] == ["missing-topic", "missing-topic"]
    options = http.post("/complete", json={"text": "PRINT 'fig", "offset": 10}).json()["options"]
    assert [o["label"] for o in options] == ["figured"]
