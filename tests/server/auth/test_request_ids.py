"""Each request has an id: in its answer, whoever gives it, and in every line that is logged for it."""

from __future__ import annotations

import io
import json
import logging
import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksqlpy.config import Config
from ksqlpy.logs import JsonLines, TextLines
from ksqlpy.request import REQUEST
from ksqlpy.server.backend import Backend, State
from ksqlpy.server.run import ServerThread
from tests.server.auth.conftest import SHOW
from tests.server.auth.test_vouch import Pair
from tests.server.test_websocket import query
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import until

MADE = re.compile(r"[0-9a-f]{12}-[0-9a-f]{8}")
ALICE = ("alice", "correct horse")


class Telling(FakeEngine):
    """Logs a line in each call, by which the thread of a call says for what it works."""

    def __init__(self) -> None:
        super().__init__()
        self.config = Config.of({"ksqlpy.port": "0"})
        self.seen: list[object] = []

    def execute(self, sql: str, properties: Mapping[str, object] = {}, variables: Mapping[str, str] = {}) -> Any:
        self.seen.append(REQUEST.get())
        logging.getLogger("ksqlpy.runtime.engine").warning("it is told: %s", sql)
        return super().execute(sql, properties, variables)


@pytest.fixture
def engine() -> Telling:
    return Telling()


@pytest.fixture
def written() -> Iterator[list[io.StringIO]]:
    """What is logged, as text and as JSON."""
    root, found = logging.getLogger(), [io.StringIO(), io.StringIO()]
    handlers = [logging.StreamHandler(f) for f in found]
    for handler, form in zip(handlers, (TextLines(), JsonLines()), strict=True):
        handler.setFormatter(form)
        root.addHandler(handler)
    yield found
    for handler in handlers:
        root.removeHandler(handler)


def http(url: str, **more: Any) -> httpx.Client:
    return httpx.Client(base_url=url, timeout=30, trust_env=False, **more)


@pytest.mark.parametrize("more", [{}, {"http1": False, "http2": True}], ids=["HTTP/1.1", "HTTP/2"])
def test_an_answer_has_the_id_that_the_client_gave_or_a_new_one(engine: Telling, more: dict[str, Any]) -> None:
    with ServerThread(engine) as server, http(server.url, **more) as client:
        asked: list[tuple[str, str, object]] = [
            ("GET", "/info", None),
            ("GET", "/no/such/path", None),
            ("GET", "/ksql", None),
            ("POST", "/ksql", SHOW),
            ("POST", "/ksql", {"ksql": "BROKEN;"}),
            ("POST", "/query-stream", {"sql": "SELECT * FROM known LIMIT 3;"}),
            ("POST", "/query-stream", {"sql": "SELECT * FROM rows EMIT CHANGES LIMIT 3;"}),
            ("POST", "/inserts-stream", {"target": "s"}),
        ]
        for method, path, body in asked:
            own = client.request(method, path, json=body, headers={"X-Request-Id": "a/b:c+1@d_e.f=-"})
            assert own.headers.get_list("x-request-id") == ["a/b:c+1@d_e.f=-"], path
            new = [client.request(method, path, json=body).headers["x-request-id"] for _ in range(2)]
            assert all(map(MADE.fullmatch, new)) and new[0] != new[1]
        foreign = client.get("/info", headers={"Host": "evil.example", "X-Request-Id": "f"})
        page = client.get("/info", headers={"Origin": "http://evil.example", "X-Request-Id": "g"})
        assert [(a.status_code, a.headers["x-request-id"]) for a in (foreign, page)] == [(421, "f"), (403, "g")]


@pytest.mark.parametrize(
    "given", ["", "x" * 129, "a b", 'a"b', "a\tb", "ä".encode("latin-1").decode("latin-1"), "{x}", "a;b", "<a>"]
)
def test_an_id_that_could_spoil_a_log_is_not_taken(engine: Telling, given: str) -> None:
    with ServerThread(engine) as server, http(server.url) as client:
        headers = [(b"x-request-id", given.encode("latin-1"))]
        assert MADE.fullmatch(client.get("/info", headers=headers).headers["x-request-id"])
        twice = [(b"x-request-id", b"one"), (b"x-request-id", b"two")]
        assert MADE.fullmatch(client.get("/info", headers=twice).headers["x-request-id"])


def test_refusals_of_the_login_have_one(engine: Telling, users: Path) -> None:
    engine.config = Config.of({"ksqlpy.auth.users.file": str(users)})
    with ServerThread(engine) as server, http(server.url) as client:
        for auth, status in ((None, 401), (("alice", "wrong"), 401), (ALICE, 200)):
            answer = client.post("/ksql", json=SHOW, auth=auth, headers={"X-Request-Id": "mine"})
            assert (answer.status_code, answer.headers["x-request-id"]) == (status, "mine")


def test_a_server_that_starts_gives_one(engine: Telling) -> None:
    with ServerThread(Backend(engine, State.STARTING)) as server, http(server.url) as client:
        answer = client.post("/ksql", json=SHOW, headers={"X-Request-Id": "early"})
        assert (answer.status_code, answer.headers["x-request-id"]) == (503, "early")


def test_a_websocket_has_one(engine: Telling) -> None:
    with ServerThread(engine) as server:
        url = httpx.URL(server.url)
        for path, status in ((query("SELECT * FROM rows EMIT CHANGES LIMIT 1;"), b"101"), ("/ws/nothing", b"403")):
            with socket.create_connection((url.host, url.port or 0), timeout=20) as talk:
                talk.sendall(
                    f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                    "X-Request-Id: of-ws\r\n\r\n".encode()
                )
                answer = b""
                while b"\r\n\r\n" not in answer and (data := talk.recv(65_536)):
                    answer += data
            assert answer.split(b" ")[1] == status
            assert b"\r\nx-request-id: of-ws\r\n" in answer.lower()


def test_lines_of_the_log_name_request_and_principal(engine: Telling, users: Path, written: list[io.StringIO]) -> None:
    engine.config = Config.of({"ksqlpy.auth.users.file": str(users)})
    with ServerThread(engine) as server, http(server.url, auth=ALICE) as client:
        client.post("/ksql", json=SHOW, headers={"X-Request-Id": "one"})
        client.post("/ksql", json={"ksql": "BROKEN;"}, headers={"X-Request-Id": "two"})
        client.post("/ksql", json={"ksql": "SHOW\n2026-11-30 FATAL forged: no"}, headers={"X-Request-Id": "three"})
        client.post("/ksql", json=SHOW, auth=("mallory", "hunter2222"), headers={"X-Request-Id": "four"})
    text, lines = written[0].getvalue(), written[1].getvalue()
    told = r"WARN ksqlpy.runtime.engine \[request one, by alice\]: it is told: SHOW"
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} " + told, text)
    assert "ERROR ksqlpy.server [request two, by alice]: POST /ksql failed\n    Traceback" in text
    assert "WARN ksqlpy.server [request four]: login refused: user 'mallory'" in text
    assert "\n    2026-11-30 FATAL forged" in text and "\n2026-11-30 FATAL" not in text
    found = [json.loads(line) for line in lines.splitlines()]
    [one] = [e for e in found if e.get("request") == "one"]
    assert (one["level"], one["logger"], one["principal"]) == ("WARN", "ksqlpy.runtime.engine", "alice")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", one["time"]) and one["message"].startswith("it is")
    [failed] = [e for e in found if e.get("request") == "two" and e["level"] == "ERROR"]
    assert "nobody saw this coming" in failed["trace"]


def test_rows_of_a_push_query_are_read_for_the_request(engine: Telling, written: list[io.StringIO]) -> None:
    class Failing(Telling):
        def query(self, *args: Any, **more: Any) -> Any:
            push = super().query(*args, **more)

            def rows() -> Iterator[Any]:
                yield [1, "one"]
                raise RuntimeError("rows end badly")

            push.rows = rows  # type: ignore[method-assign]  # one of this test
            return push

    with ServerThread(Failing()) as server, http(server.url) as client:
        body = {"sql": "SELECT * FROM rows EMIT CHANGES LIMIT 3;"}
        client.post("/query-stream", json=body, headers={"X-Request-Id": "pushed"})
    assert re.search(r"ERROR ksqlpy.server \[request pushed, query q1\]: query q1 failed", written[0].getvalue())


def test_what_the_server_does_by_itself_is_for_no_request(engine: Telling, users: Path, tmp_path: Path) -> None:
    """The task that looks at logins is begun by the first request, and is not its."""
    file = tmp_path / "audit"
    engine.config = Config.of({"ksqlpy.auth.users.file": str(users), "ksqlpy.audit.file": str(file)})
    with ServerThread(engine) as server, http(server.url, auth=ALICE) as client:
        client.post("/ksql", json=SHOW, headers={"X-Request-Id": "first"})
        users.write_text(users.read_text().replace("alice:", "bob:"))
        assert until(lambda: "bob" in file.read_text())
    [line] = [json.loads(text) for text in file.read_text().splitlines()]
    assert (line["kind"], line["added"], line["removed"], line["request"]) == ("USERS", ["bob"], ["alice"], None)


def test_a_reader_hands_the_id_on(engine: Telling, users: Path, tmp_path: Path, sockets_folder: Path) -> None:
    file = tmp_path / "audit"
    engine.config = Config.of(
        {"ksqlpy.port": "0", "ksqlpy.auth.users.file": str(users), "ksqlpy.audit.file": str(file)}
    )
    with Pair(engine, sockets_folder) as pair, http(pair.url, auth=ALICE) as client:
        for given in ("mine", None):
            answer = client.post("/ksql", json=SHOW, headers={"X-Request-Id": given} if given else {})
            seen: Any = engine.seen[-1]
            assert answer.headers.get_list("x-request-id") == [seen.id] and (given or seen.id) == seen.id
            assert seen.address == "127.0.0.1"
