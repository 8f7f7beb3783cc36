"""Connections that ask nothing, or too slowly, or that their clients have left."""

from __future__ import annotations

import json
import resource
import socket
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import httpx
import psutil
import pytest

from ksqlpy.runtime.patience import MOST
from ksqlpy.server import bodies, connections
from ksqlpy.server.run import ServerThread
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import until

ASKED = b"GET /info HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def sockets() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def connected(server: ServerThread, sockets: ExitStack | None = None) -> socket.socket:
    found = urllib.parse.urlsplit(server.url)
    made = socket.create_connection((found.hostname, found.port), timeout=30)
    return sockets.enter_context(made) if sockets is not None else made


def ask(of: socket.socket) -> bytes:
    """The whole answer, whose head and body may come one after the other."""
    of.sendall(ASKED)
    found = b""
    while not found.endswith(b"}}") and (part := of.recv(65_536)):
        found += part
    return found


def is_closed(of: socket.socket) -> bool:
    try:
        return of.recv(1) == b""
    except ConnectionResetError:
        return True


def states(server: ServerThread) -> list[str]:
    port = urllib.parse.urlsplit(server.url).port
    return [c.status for c in psutil.Process().net_connections() if c.laddr.port == port and c.status != "LISTEN"]


def test_a_connection_ends_with_its_client(server: ServerThread) -> None:
    for _ in range(50):
        with closing(connected(server)) as one:
            assert b"200" in ask(one)
    assert until(lambda: not [s for s in states(server) if s in ("CLOSE_WAIT", "ESTABLISHED")])


def test_those_that_rest_longest_make_room(
    server: ServerThread, sockets: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections._ALL, "most", 4)
    many = [connected(server, sockets) for _ in range(4)]
    assert until(lambda: connections._ALL.open == 4)  # all are accepted, in the order in which they came
    assert b"200" in ask(many[0])  # which makes it younger than the others
    more = [connected(server, sockets) for _ in range(2)]
    assert b"200" in ask(more[0])
    assert b"200" in ask(more[1])
    assert is_closed(many[1])
    assert is_closed(many[2])
    assert b"200" in ask(many[0])
    assert httpx.get(f"{server.url}/info", trust_env=False).status_code == 200


def test_half_a_head_is_waited_for_so_long_only(
    server: ServerThread, sockets: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "FIRST", 0.3)
    slow, silent = connected(server, sockets), connected(server, sockets)
    slow.sendall(ASKED[:20])
    assert is_closed(slow)
    assert is_closed(silent)


def test_a_connection_that_has_asked_may_rest(
    server: ServerThread, sockets: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "FIRST", 0.3)
    one, silent = connected(server, sockets), connected(server, sockets)
    assert b"200" in ask(one)
    assert is_closed(silent)
    assert b"200" in ask(one)


@pytest.mark.parametrize("length", [50, bodies.MAX_BODY + 50])
def test_half_a_body_is_waited_for_so_long_only(
    server: ServerThread, sockets: ExitStack, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    monkeypatch.setattr(bodies, "REST", 0.3)
    slow = connected(server, sockets)
    head = (
        f"POST /ksql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    )
    slow.sendall(head.encode() + b"x" * (length - 40))
    head, _, body = slow.recv(65_536).partition(b"\r\n\r\n")
    assert b" 408 " in head
    assert json.loads(body or slow.recv(65_536))["error_code"] == 40800
    assert is_closed(slow)


@pytest.mark.parametrize("more", [b"", b"X", ASKED], ids=["no more", "a byte", "a request"])
def test_a_push_query_ends_with_a_client_that_has_sent_more(
    server: ServerThread, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, more: bytes
) -> None:
    monkeypatch.setattr(connections, "LEAVING", 0.2)
    body = b'{"sql": "SELECT * FROM live EMIT CHANGES;"}'
    head = "POST /query-stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with closing(connected(server)) as one:
        one.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert until(lambda: engine.pushes)
        one.sendall(more)
        assert b" 200 " in one.recv(65_536)
    assert until(lambda: not engine.pushes)


def waits(server: ServerThread) -> socket.socket:
    made = connected(server)
    body = b'{"ksql": "WAIT;"}'
    made.sendall(b"POST /ksql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
    made.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    return made


def test_what_waits_for_a_client_ends_with_it(server: ServerThread, engine: FakeEngine) -> None:
    for _ in range(3):  # more than may wait at one time, one crowd after the other
        crowd = [waits(server) for _ in range(MOST)]
        for _ in crowd:
            assert engine.waiting.acquire(timeout=30)
        assert httpx.get(f"{server.url}/healthcheck", trust_env=False).json()["isHealthy"]
        refused = httpx.post(f"{server.url}/ksql", json={"ksql": "WAIT;"}, trust_env=False)
        assert (refused.status_code, refused.json()["error_code"]) == (429, 42900)
        assert engine.waiting.acquire(timeout=30)
        for one in crowd:
            one.close()
        assert until(lambda: not server.backend._waiting)


def test_the_server_stops_beside_what_waits(engine: FakeEngine) -> None:
    with ServerThread(engine) as running:
        one = waits(running)
        assert engine.waiting.acquire(timeout=30)
    with one:
        assert b"nobody waits" in one.recv(65_536)


def test_a_short_request_does_not_wait_behind_a_crowd(
    server: ServerThread, engine: FakeEngine, sockets: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are there before the first one is accepted; a round of the loop begins one of the crowd."""
    info, begun, go = engine.info, list[int](), threading.Event()

    def counted() -> dict[str, Any]:
        begun.append(connections._ALL.open - len(connections._ALL.resting))
        return info()

    monkeypatch.setattr(engine, "info", counted)
    assert b"200" in ask(connected(server, sockets))
    assert server._loop is not None
    server._loop.call_soon_threadsafe(go.wait, 30)
    for _ in range(400):
        connected(server, sockets).sendall(
            b"POST /ksql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
        )
    last = connected(server, sockets)
    last.sendall(ASKED)
    go.set()
    assert b"200" in last.recv(65_536)
    assert begun[1] < 200
    assert until(lambda: connections._ALL.open - len(connections._ALL.resting) == 400)


def test_the_server_may_have_more_open_files_than_it_began_with() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    program = (
        "import resource; from ksqlpy.server import connections;"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, (200, {hard}));"
        "connections.limit(5_000); few = connections._ALL.most; connections.more_descriptors();"
        "connections.limit(5_000); print(few, connections._ALL.most, resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    more = min(hard, 65_536) if hard != resource.RLIM_INFINITY else 65_536
    assert told == ["100", str(min(5_000, more // 2)), str(more)]
