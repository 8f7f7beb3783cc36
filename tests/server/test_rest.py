"""Endpoints that answer at once: bodies, errors, media types, and the states of the server."""

from __future__ import annotations

import re
import socket
import threading
import time

import httpx
import pytest

from ksqlpy.server.backend import State
from ksqlpy.server.openapi import ENDPOINTS
from ksqlpy.server.run import ServerThread
from tests.support.fake_engine import FakeEngine


def test_statements_and_properties(http: httpx.Client, engine: FakeEngine) -> None:
    body = {"ksql": "SHOW STREAMS;", "streamsProperties": {"auto.offset.reset": "earliest"}, "newer": 1}
    answer = http.post("/ksql", json=body)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/vnd.ksql.v1+json"
    assert [e["@type"] for e in answer.json()] == ["streams"]
    assert engine.calls == [("SHOW STREAMS;", {"auto.offset.reset": "earliest"})]


def test_all_keys_of_ksqldbs_own_client(http: httpx.Client) -> None:
    body = {"ksql": "CREATE STREAM s;", "streamsProperties": None, "requestProperties": {}, "sessionVariables": {}}
    assert http.post("/ksql", json={**body, "commandSequenceNumber": None}).json()[0]["commandStatus"]


def test_failing_statement(http: httpx.Client) -> None:
    answer = http.post("/ksql", json={"ksql": "CREATE STREAM s;\nBAD thing;\nSHOW STREAMS;"})
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()
    assert error["@type"] == "statement_error"
    assert error["error_code"] == 40001
    assert error["message"] == "line 2:5: There is no thing (hint: did you mean `THINGS`?)"
    assert error["stackTrace"] == []
    assert error["statementText"] == "BAD thing;"
    assert [e["@type"] for e in error["entities"]] == ["currentStatus"]
    drawn = error["ksqlpy"].pop("rendered")
    assert "^^^^" in drawn
    assert error["ksqlpy"] == {
        "code": "bad-thing",
        "message": "There is no thing",
        "line": 2,
        "column": 5,
        "length": 4,
        "hint": "did you mean `THINGS`?",
    }


def test_query_among_statements(http: httpx.Client) -> None:
    answer = http.post("/ksql", json={"ksql": "SELECT * FROM s EMIT CHANGES;"})
    assert (answer.status_code, answer.json()["error_code"]) == (400, 40002)


@pytest.mark.parametrize("path", ["/ksql", "/query-stream", "/close-query"])
@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'"text"', "must be a JSON object"),
        (b"{}", "is missing"),
        (b'{"ksql": 1, "sql": 1, "queryId": 1}', "must be text"),
    ],
)
def test_bad_bodies(http: httpx.Client, path: str, body: bytes, says: str) -> None:
    answer = http.post(path, content=body)
    assert answer.status_code == 400
    assert (answer.json()["@type"], answer.json()["error_code"]) == ("generic_error", 40000)
    assert says in answer.json()["message"]


@pytest.mark.parametrize("key", ["streamsProperties", "requestProperties", "sessionVariables"])
def test_maps_must_be_maps(http: httpx.Client, key: str) -> None:
    answer = http.post("/ksql", json={"ksql": "SHOW STREAMS;", key: [1]})
    assert answer.status_code == 400
    assert repr(key) in answer.json()["message"]


@pytest.mark.parametrize(("path", "text"), [("/ksql", "ksql"), ("/query-stream", "sql")])
def test_session_variables(http: httpx.Client, engine: FakeEngine, path: str, text: str) -> None:
    http.post(path, json={text: "SELECT * FROM rows EMIT CHANGES;", "sessionVariables": {"x": "y"}})
    assert engine.variables == [{"x": "y"}]
    answer = http.post(path, json={text: "SHOW STREAMS;", "sessionVariables": {"x": 1}})
    assert answer.json()["error_code"] == 40000
    assert "the value of session variable x is not a string" in answer.json()["message"]
    assert len(engine.variables) == 1


def test_unforeseen_failure(http: httpx.Client) -> None:
    answer = http.post("/ksql", json={"ksql": "BROKEN;"})
    assert answer.status_code == 500
    assert answer.json()["error_code"] == 50000
    assert "nobody saw this coming" in answer.json()["message"]


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [("GET", "/nothing", 40400), ("POST", "/", 40500), ("GET", "/ksql", 40500), ("GET", "/ksql/", 40400)],
)
def test_no_such_endpoint(http: httpx.Client, method: str, path: str, code: int) -> None:
    answer = http.request(method, path)
    assert answer.status_code == code // 100
    assert (answer.json()["@type"], answer.json()["error_code"]) == ("generic_error", code)
    assert ("allow" in answer.headers) == (code == 40500)


@pytest.mark.parametrize(
    ("accept", "gets"),
    [
        ("*/*", "application/vnd.ksql.v1+json"),
        ("application/json", "application/json"),
        ("application/json; charset=utf-8", "application/json"),
        ("application/json, text/plain, */*", "application/json"),
        ("application/vnd.ksql.v1+json", "application/vnd.ksql.v1+json"),
        ("application/json;q=0.5, application/vnd.ksql.v1+json", "application/vnd.ksql.v1+json"),
        ("APPLICATION/*", "application/vnd.ksql.v1+json"),
        ("text/html", None),
        ("application/json;q=0", None),
        ("application/vnd.ksql.v1+protobuf", None),
    ],
)
def test_negotiation(http: httpx.Client, engine: FakeEngine, accept: str, gets: str | None) -> None:
    answer = http.post("/ksql", json={"ksql": "SHOW STREAMS;"}, headers={"Accept": accept})
    if gets is None:
        assert (answer.status_code, answer.json()["error_code"]) == (406, 40600)
        assert engine.calls == []
    else:
        assert (answer.status_code, answer.headers["content-type"]) == (200, gets)


def test_info(http: httpx.Client) -> None:
    answer = http.get("/")
    assert (answer.status_code, answer.headers["location"]) == (307, "/info")
    assert http.get("/info").json()["KsqlServerInfo"]["serverStatus"] == "RUNNING"


def test_health(http: httpx.Client, engine: FakeEngine) -> None:
    assert http.get("/healthcheck").json() == {"isHealthy": True, "details": {}, "serverState": "READY"}
    engine.healthy = False
    answer = http.get("/healthcheck")
    assert (answer.status_code, answer.json()["isHealthy"]) == (503, False)


@pytest.mark.parametrize("name", ["auto.offset.reset", "ksql.streams.auto.offset.reset", "commit.interval.ms"])
def test_valid_property(http: httpx.Client, name: str) -> None:
    answer = http.get(f"/is_valid_property/{name}")
    assert (answer.status_code, answer.json()) == (200, True)


@pytest.mark.parametrize("name", ["auto.offset.rest", "ksqlpy.port", "%0A", "a%0D%0Ab", "a/b"])
def test_invalid_property(http: httpx.Client, name: str) -> None:
    answer = http.get(f"/is_valid_property/{name}")
    assert (answer.status_code, answer.json()["error_code"]) == (400, 40000)


@pytest.mark.parametrize("path", ["/ksql", "/query-stream", "/nothing", "/info"])
def test_refused_request_leaves_the_connection_usable(server: ServerThread, path: str) -> None:
    """The answer must not overtake a body that is still on its way."""
    with socket.create_connection(("127.0.0.1", httpx.URL(server.url).port or 0), timeout=5) as connection:
        for _ in range(2):
            head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nContent-Length: 7\r\n\r\n"
            connection.sendall(head.encode())
            time.sleep(0.05)
            connection.sendall(b'{"a":1}')
            answer = connection.recv(65536)
            while b"\r\n\r\n{" not in answer:
                answer += connection.recv(65536)
            assert answer.startswith(b"HTTP/1.1 40")


def test_http2_and_1_on_one_port(http: httpx.Client, http2: httpx.Client) -> None:
    assert [c.get("/info").http_version for c in (http, http2, http)] == ["HTTP/1.1", "HTTP/2", "HTTP/1.1"]


@pytest.mark.parametrize(("state", "code"), [(State.STARTING, 50302), (State.STOPPING, 50303)])
def test_not_ready(server: ServerThread, http: httpx.Client, state: State, code: int) -> None:
    server.backend.state = state
    for (method, path), told in ENDPOINTS.items():
        if not told.always and "ready" not in path:  # which say so in their own way
            answer = http.request(method, re.sub("[{}]", "", path), params=told.query, content=told.sent)
            assert (answer.status_code, answer.json()["error_code"]) == (503, code), path
    assert http.get("/chc/live").status_code == 200
    assert http.get("/chc/ready").status_code == 503
    server.backend.state = State.READY
    assert http.get("/chc/ready").status_code == 200


def test_slow_statement_holds_nobody_up(server: ServerThread, http: httpx.Client) -> None:
    slow = threading.Thread(target=httpx.post, args=(f"{server.url}/ksql",), kwargs={"json": {"ksql": "SLOW;"}})
    slow.start()
    time.sleep(0.1)
    begin = time.monotonic()
    assert http.get("/info").status_code == 200
    assert time.monotonic() - begin < 0.5
    slow.join()
