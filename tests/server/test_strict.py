"""Requests that a proxy might read as others than the server does are refused, and end their connection."""

from __future__ import annotations

import re
import socket
import urllib.parse

import pytest

from ksqlpy.server.run import ServerThread

BODY = '{"ksql": "SHOW STREAMS;"}'
POST = "POST /ksql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CHUNKED = f"{len(BODY):x}\r\n{BODY}\r\n0\r\n\r\n"
NEXT = "GET /info HTTP/1.1\r\nHost: localhost\r\n\r\n"

REFUSED = {
    "two lengths": POST + f"Content-Length: {len(CHUNKED)}\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKED,
    "two lengths, the other way": POST + f"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n{CHUNKED}",
    "chunks in HTTP/1.0": POST.replace("1.1", "1.0") + f"Transfer-Encoding: chunked\r\n\r\n{CHUNKED}",
    "two Content-Length": POST + f"Content-Length: {len(BODY)}\r\nContent-Length: 5\r\n\r\n{BODY}",
    "unknown coding": POST + f"Transfer-Encoding: chunked, gzip\r\n\r\n{CHUNKED}",
    "blank ahead of the colon": POST + f"Transfer-Encoding : chunked\r\n\r\n{CHUNKED}",
    "bare line feeds": NEXT.replace("\r\n", "\n"),
    "one bare line feed": "GET /info HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n",
    "a bare carriage return": "GET /info HTTP/1.1\r\nHost: localhost\r\nX: a\rb: c\r\n\r\n",
    "a folded header": "GET /info HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n",
    "HTTP/9.9": NEXT.replace("1.1", "9.9"),
    "HTTP/0.9": "GET /info\r\n\r\n",
}


def answers(server: ServerThread, sent: str) -> str:
    """All that comes until the server closes the connection."""
    found = urllib.parse.urlsplit(server.url)
    with socket.create_connection((found.hostname, found.port), timeout=30) as one:
        one.sendall(sent.encode())
        parts = []
        while part := one.recv(65_536):
            parts.append(part)
    return b"".join(parts).decode()


@pytest.mark.parametrize("request_", REFUSED.values(), ids=REFUSED)
def test_it_is_refused_and_nothing_behind_it_is_read(server: ServerThread, request_: str) -> None:
    found = answers(server, request_ + NEXT)
    assert found.startswith(("HTTP/1.1 400 ", "HTTP/1.1 505 ", "HTTP/1.1 501 "))
    assert found.count("HTTP/1.1 ") == 1


def test_the_second_request_of_a_connection_is_held_to_the_same(server: ServerThread) -> None:
    found = answers(server, NEXT + NEXT.replace("\r\n", "\n") + NEXT)
    assert re.findall(r"HTTP/1\.1 (\d+)", found) == ["200", "400"]


def test_others_are_answered(server: ServerThread) -> None:
    last = NEXT.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")
    chunked = POST + f"Transfer-Encoding: chunked\r\n\r\n{CHUNKED}"
    plain = POST + f"Content-Length: {len(BODY)}\r\n\r\n{BODY}"
    found = answers(server, chunked + plain + NEXT + last)
    assert re.findall(r"HTTP/1\.1 (\d+)", found) == ["200"] * 4


def test_a_head_may_come_in_pieces(server: ServerThread) -> None:
    found = urllib.parse.urlsplit(server.url)
    with socket.create_connection((found.hostname, found.port), timeout=30) as one:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in NEXT.encode():
            one.sendall(bytes([byte]))
        assert one.recv(65_536).startswith(b"HTTP/1.1 200")


def test_no_connection_becomes_http2_by_a_header(server: ServerThread) -> None:
    upgrade = (
        "Connection: close, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n"
    )
    found = answers(server, NEXT.replace("\r\n\r\n", "\r\n" + upgrade))
    assert found.startswith("HTTP/1.1 200 ")
