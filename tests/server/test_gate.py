"""Which requests the server takes: the name that it is asked under, and the pages that browsers send requests for."""

from __future__ import annotations

import socket
from collections.abc import Callable

import httpx
import pytest

from ksqlpy.config import Config
from ksqlpy.errors import ConfigProblem
from ksqlpy.server.run import ServerThread, listen, serve
from tests.support.fake_engine import FakeEngine

SHOW = b'{"ksql": "SHOW STREAMS;"}'
ENDPOINTS = ["/ksql", "/query-stream", "/close-query", "/inserts-stream", "/info", "/healthcheck", "/", "/nothing"]


@pytest.fixture(params=["http", "http2"])
def client(request: pytest.FixtureRequest) -> httpx.Client:
    found: httpx.Client = request.getfixturevalue(request.param)
    return found


def show(client: httpx.Client, headers: dict[str, str]) -> tuple[int, int | None]:
    """Status and error code of a statement that a page sends without asking first."""
    answer = client.post("/ksql", content=SHOW, headers={"Content-Type": "text/plain", **headers})
    return answer.status_code, None if answer.is_success else answer.json()["error_code"]


OWN = "localhost LOCALHOST:1 localhost. 127.0.0.1 127.0.0.1:8088 127.1.2.3 [::1] [::1]:8088"
OTHERS = """evil.example evil.example:8088 127.0.0.1.evil.example localhost.evil.example 192.0.2.1 [2001:db8::1]:80
    localhost@evil.example localhost/x [::1 localhost:x localhost:1:2 127.0.0.1,evil.example"""


@pytest.mark.parametrize("host", [*OWN.split(), socket.gethostname()])
def test_names_of_this_server(client: httpx.Client, host: str) -> None:
    assert show(client, {"Host": host}) == (200, None)


@pytest.mark.parametrize("host", OTHERS.split())
def test_names_of_others(client: httpx.Client, engine: FakeEngine, host: str) -> None:
    assert show(client, {"Host": host}) == (421, 42100)
    assert engine.calls == []


def test_no_name(server: ServerThread) -> None:
    with socket.create_connection(("127.0.0.1", httpx.URL(server.url).port or 0), timeout=5) as connection:
        connection.sendall(b"GET /info HTTP/1.0\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 421")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "http://127.0.0.1"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
    ],
)
def test_pages_of_others(client: httpx.Client, engine: FakeEngine, headers: dict[str, str]) -> None:
    assert show(client, headers) == (403, 40300)
    assert engine.calls == []


@pytest.mark.parametrize("path", ENDPOINTS)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "OPTIONS"])
def test_every_endpoint_and_method(client: httpx.Client, path: str, method: str) -> None:
    preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    page = client.request(method, path, headers={"Origin": "https://evil.example", **preflight})
    host = client.request(method, path, headers={"Host": "evil.example"})
    assert (page.json()["error_code"], host.json()["error_code"]) == (40300, 42100)
    assert "access-control-allow-origin" not in page.headers


def test_a_page_of_the_server_and_a_person_at_the_address_bar(client: httpx.Client, server: ServerThread) -> None:
    assert show(client, {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}) == (200, None)
    assert show(client, {"Sec-Fetch-Site": "none"}) == (200, None)


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "application/json", "x/y"])
def test_without_an_origin_any_content_type_will_do(client: httpx.Client, kind: str) -> None:
    """As ``curl -d`` sends it."""
    assert show(client, {"Content-Type": kind}) == (200, None)


def test_configured_origins_and_hosts(engine: FakeEngine) -> None:
    page = "https://console.example"
    engine.config = Config.of(
        {
            "access.control.allow.origin": f"http://localhost:3000, {page}:443/",
            "ksqlpy.allowed.hosts": "ksql.example,[2001:db8::1]",
        }
    )
    with ServerThread(engine) as server, httpx.Client(base_url=server.url, trust_env=False) as client:
        answer = client.post("/ksql", content=SHOW, headers={"Origin": page, "Sec-Fetch-Site": "cross-site"})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, page)
        failed = client.post("/ksql", json={"ksql": "BROKEN;"}, headers={"Origin": page})
        assert (failed.status_code, failed.headers["access-control-allow-origin"]) == (500, page)
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type,x-y"}
        preflight = client.options("/query-stream", headers={"Origin": page, **asked})
        assert preflight.status_code == 200
        assert preflight.headers["access-control-allow-origin"] == page
        assert preflight.headers["access-control-allow-headers"] == "content-type,x-y"
        assert show(client, {"Origin": "https://console.example.evil"}) == (403, 40300)
        assert show(client, {"Origin": page, "Host": "evil.example"}) == (421, 42100)
        assert show(client, {"Host": "ksql.example:80"}) == (200, None)
        assert show(client, {"Host": "[2001:db8::1]"}) == (200, None)


@pytest.mark.parametrize(
    ("name", "value"),
    [("access.control.allow.origin", v) for v in ("*", "null", "https://a/b", "a.example", "https://*.a.example")]
    + [("ksqlpy.allowed.hosts", v) for v in ("*", "a:1", "http://a", "a b")],
)
def test_what_no_property_may_allow(name: str, value: str) -> None:
    with pytest.raises(ConfigProblem, match=name):
        Config.of({name: value})


def test_a_websocket_is_refused_too(server: ServerThread) -> None:
    with socket.create_connection(("127.0.0.1", httpx.URL(server.url).port or 0), timeout=5) as connection:
        connection.sendall(
            b"GET /ws/query HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\nConnection: Upgrade\r\n"
            b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        assert connection.recv(65536).startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize("host", ["0.0.0.0", "", "::", "192.0.2.1"])
def test_an_address_that_others_reach_needs_to_be_asked_for(host: str) -> None:
    class Untouched(FakeEngine):
        def start(self) -> None:
            raise AssertionError("started")

    def fails(start: Callable[[], object]) -> None:
        with pytest.raises(ConfigProblem, match="asks nobody for a login") as refused:
            start()
        assert (refused.value.code, "--insecure" in (refused.value.hint or "")) == ("address-insecure", True)

    fails(lambda: serve(Config.of({"ksqlpy.host": host, "ksqlpy.port": 0}), engine=Untouched()))
    fails(lambda: ServerThread(FakeEngine(), host))


def test_an_address_that_was_asked_for(engine: FakeEngine) -> None:
    with ServerThread(engine, "0.0.0.0", insecure=True) as server:
        for name in ("127.0.0.1", "localhost", socket.gethostname()):
            with httpx.Client(base_url=f"http://127.0.0.1:{httpx.URL(server.url).port}", trust_env=False) as client:
                assert show(client, {"Host": name}) == (200, None)
                assert show(client, {"Host": "evil.example"}) == (421, 42100)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
def test_loopback_is_never_refused(host: str) -> None:
    listen(host, 0).close()
