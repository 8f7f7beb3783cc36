"""Reader processes beside a real server: clients need not know which process they talk to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import psutil
import pytest

from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from tests.harness.server import Server
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.extended("several servers as processes")]

ASK = "SELECT * FROM known WHERE id = 2;"
READERS = {"pull_reader1", "pull_reader2"}
PATIENCE = 60.0


@pytest.fixture(scope="module")
def server(broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"ksqlpy.readers": "2", "ksqlpy.warm.up": "false", "ksql.service.id": "readers_"}
    made = Server(KafkaConnection(broker.bootstrap), tmp_path_factory.mktemp("readers"), settings)
    made.start()
    made.statements(
        "CREATE TABLE known (id INT PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC='known', FORMAT='JSON', PARTITIONS=1);"
        "INSERT INTO known VALUES (1, 'one'); INSERT INTO known VALUES (2, 'two');"
        "CREATE STREAM live (id INT KEY, v INT) WITH (KAFKA_TOPIC='live', FORMAT='JSON', PARTITIONS=1);"
    )
    yield made
    made.stop()
    _, outlived = made.wait_for_children()
    assert outlived == []


def http(server: Server, **more: Any) -> httpx.Client:
    """A client with a connection of its own, which any of the processes may have taken."""
    return httpx.Client(base_url=server._client.url, timeout=30, trust_env=False, **more)


def lookup(server: Server) -> tuple[str, list[Any]]:
    """Who has answered, and the rows."""
    with http(server) as client:
        answer = client.post("/query-stream", json={"sql": ASK}, headers={"Accept": "application/json"})
        assert answer.status_code == 200, answer.text
        header, *rows = answer.json()
        return header["queryId"].rpartition("_")[0], rows


def all_answer(server: Server) -> None:
    """Waits until both readers have answered."""
    seen: set[str] = set()

    def look() -> bool:
        by, rows = lookup(server)
        assert rows == [[2, "two"]]
        seen.add(by)
        return seen >= READERS

    assert until(look, PATIENCE)


def test_lookups_are_answered_by_all_processes(server: Server) -> None:
    all_answer(server)


@pytest.mark.parametrize("protocol", ["HTTP/1.1", "HTTP/2"])
def test_everything_else_is_answered_whoever_is_asked(server: Server, protocol: str) -> None:
    all_answer(server)
    more = {"http1": False, "http2": True} if protocol == "HTTP/2" else {}
    for number in range(8):  # so many connections that each process has some
        with http(server, **more) as client:
            assert client.get("/info").json()["KsqlServerInfo"]["serverStatus"] == "RUNNING"
            shown = client.post("/ksql", json={"ksql": "SHOW TABLES;"}).json()
            assert [t["name"] for t in shown[0]["tables"]] == ["KNOWN"]
            refused = client.post("/ksql", json={"ksql": "SHOW NOTHING;"})
            assert (refused.status_code, refused.json()["error_code"]) == (400, 40001)
            scan = client.post("/query-stream", json={"sql": "SELECT v FROM known;"}).text.splitlines()
            assert sorted(scan[1:]) == ['["one"]', '["two"]']
            missing = client.get("/nowhere")
            assert (missing.status_code, missing.json()["error_code"]) == (404, 40400)
            unknown = client.get("/info", headers={"Host": "elsewhere.example"})
            assert unknown.status_code == 421
            ask = {"sql": "SELECT v FROM live EMIT CHANGES LIMIT 1;", "properties": {"auto.offset.reset": "latest"}}
            with client.stream("POST", "/query-stream", json=ask) as stream:
                lines = stream.iter_lines()
                assert "queryId" in json.loads(next(lines))
                server.statements(f"INSERT INTO live VALUES (1, {number});")
                assert next(lines) == f"[{number}]"


def test_a_push_query_ends_with_its_client_and_by_another_connection(server: Server) -> None:
    def count() -> int:
        (shown,) = server.statements("SHOW QUERIES;")
        return sum(q["queryType"] == "PUSH" for q in shown["queries"])

    assert until(lambda: count() == 0, PATIENCE)
    ask = {"sql": "SELECT v FROM live EMIT CHANGES;"}
    for number in range(6):
        with http(server) as client, client.stream("POST", "/query-stream", json=ask) as stream:
            lines = stream.iter_lines()
            query_id = json.loads(next(lines))["queryId"]
            assert count() == 1
            if number % 2:
                with http(server) as other:
                    assert other.post("/close-query", json={"queryId": query_id}).status_code == 200
                assert list(lines) == []
        assert until(lambda: count() == 0, PATIENCE)


def test_a_change_is_seen_by_all(server: Server) -> None:
    all_answer(server)
    server.statements("INSERT INTO known VALUES (2, 'second');")
    latest: dict[str, list[Any]] = {}

    def look() -> bool:
        by, rows = lookup(server)
        latest[by] = rows
        return set(latest) >= READERS and all(rows == [[2, "second"]] for rows in latest.values())

    assert until(look, PATIENCE)
    server.statements("INSERT INTO known VALUES (2, 'two');")
    assert until(lambda: all(lookup(server)[1] == [[2, "two"]] for _ in range(5)), PATIENCE)


def test_a_reader_that_was_killed_is_made_again(server: Server) -> None:
    all_answer(server)
    readers = [p for p in psutil.Process(server.pid).children() if "ksqlpy.server.reader" in p.cmdline()]
    assert len(readers) == 2
    for process in readers:
        process.kill()
    assert until(lambda: lookup(server)[1] == [[2, "two"]], PATIENCE)
    all_answer(server)


def test_a_table_that_is_gone_is_gone_for_all(server: Server) -> None:
    all_answer(server)
    server.statements("DROP TABLE known;")

    def refused() -> bool:
        with http(server) as client:
            return client.post("/query-stream", json={"sql": ASK}).status_code == 400

    assert until(refused, PATIENCE)
    assert until(lambda: all(refused() for _ in range(12)), PATIENCE)


def test_a_killed_server_takes_its_readers_along_and_its_port_is_free(server: Server) -> None:
    server.kill()
    server.start()  # at once, on the same port
    assert server.statements("SHOW STREAMS;")
    _, outlived = server.wait_for_children()
    assert outlived == []
