"""Connections that begin TLS and do not go on, by number."""

from __future__ import annotations

import os
import resource
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import psutil
import pytest

from ksqlpy.server import certificates, connections, handshakes, run
from tests.server.auth.authority import Authority
from tests.server.auth.conftest import HTTPS, SHOW, Start
from tests.support.waiting import until

HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
"""The begin of what a client says first, which promises 512 bytes."""


@pytest.fixture
def sockets() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def port(start: Start, own: dict[str, str]) -> int:
    [url] = start(HTTPS, own)
    return httpx.URL(url).port or 0


def half_open(port: int, sockets: ExitStack, said: bytes = HELLO) -> socket.socket:
    made = sockets.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
    made.sendall(said)
    return made


def is_closed(of: socket.socket) -> bool:
    try:
        return of.recv(1) == b""
    except ConnectionResetError:
        return True


def asked(port: int, authority: Authority) -> int:
    context = ssl.create_default_context(cafile=authority.file)
    with httpx.Client(verify=context, trust_env=False, timeout=30) as client:
        return client.post(f"https://127.0.0.1:{port}/ksql", json=SHOW).status_code


@pytest.mark.parametrize("said", [b"", HELLO], ids=["nothing", "half a greeting"])
def test_those_that_began_first_make_room(
    port: int, sockets: ExitStack, authority: Authority, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(handshakes._ALL, "most", 4)
    many = [half_open(port, sockets, said) for _ in range(4)]
    assert until(lambda: len(handshakes._ALL.open) == 4)
    assert asked(port, authority) == 200
    assert is_closed(many[0])
    assert until(lambda: len(handshakes._ALL.open) == 3)
    many += [half_open(port, sockets, said) for _ in range(2)]
    assert is_closed(many[1])
    for one in many[2:]:
        one.settimeout(0.1)
        with pytest.raises(TimeoutError):
            one.recv(1)
    assert asked(port, authority) == 200


def test_one_gets_through_beside_2_000(
    port: int, sockets: ExitStack, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    sockets.callback(resource.setrlimit, resource.RLIMIT_NOFILE, before)
    connections.more_descriptors()
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 6_000:
        pytest.skip("not so many files may be open")
    monkeypatch.setattr(handshakes._ALL, "most", 1_250)
    others = [half_open(port, sockets) for _ in range(2_000)]
    assert asked(port, authority) == 200
    assert len(handshakes._ALL.open) <= 1_250
    assert is_closed(others[0])
    ended = threading.Event()

    def go_on() -> None:
        while not ended.is_set():
            with ExitStack() as more:
                for _ in range(1_000):
                    half_open(port, more)

    crowd = threading.Thread(target=go_on)
    crowd.start()
    try:
        assert [asked(port, authority) for _ in range(5)] == [200] * 5
    finally:
        ended.set()
        crowd.join()
    assert len(handshakes._ALL.open) <= 1_250


def test_one_that_does_not_go_on_is_waited_for_so_long_only(
    start: Start, own: dict[str, str], sockets: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "HANDSHAKE", 0.3)
    assert certificates.HANDSHAKE == 10
    [url] = start(HTTPS, own)
    silent = half_open(httpx.URL(url).port or 0, sockets)
    assert is_closed(silent)
    assert until(lambda: not handshakes._ALL.open)


def test_without_file_descriptors_connections_wait(
    port: int, sockets: ExitStack, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    assert asked(port, authority) == 200  # the server has opened all that it needs
    assert until(lambda: {c.status for c in psutil.Process().net_connections() if c.laddr.port == port} == {"LISTEN"})
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    sockets.callback(resource.setrlimit, resource.RLIMIT_NOFILE, before)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + 1, before[1]))  # the client takes the last one
    made = sockets.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
    assert until(lambda: "connections are not accepted for 1 s: Too many open files" in caplog.text)
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
    context = ssl.create_default_context(cafile=authority.file)
    with context.wrap_socket(made, server_hostname="127.0.0.1") as secure:
        assert secure.version() == "TLSv1.3"


def test_the_server_stops_beside_open_handshakes(port: int, sockets: ExitStack) -> None:
    half_open(port, sockets)
    assert until(lambda: handshakes._ALL.open)  # fixtures stop the server: it must not wait for them


def test_there_may_be_a_quarter_as_many_as_connections() -> None:
    before = connections._ALL.most, handshakes._ALL.most
    try:
        connections.limit(400)
        assert (connections._ALL.most, handshakes._ALL.most) == (400, 100)
        connections.limit(1)
        assert handshakes._ALL.most == 1
    finally:
        connections._ALL.most, handshakes._ALL.most = before
