"""The ports of a server's JVMs, and what does not belong there."""

from __future__ import annotations

import os
import socket

import psutil

from tests.harness.server import Server

__all__ = ["NONSENSE", "listening", "said"]

NONSENSE = [b"GET / HTTP/1.1\r\n\r\n", bytes(800), b"\x7f" + b"\xff" * 7 + b"a" * 100, os.urandom(4096)]


def listening(server: Server) -> list[tuple[str, int]]:
    """Address and port of all that the server's JVMs listen on, but that for Python."""
    found = []
    for child in psutil.Process(server.pid).children(recursive=True):
        if "java" in child.name():
            places = [c.laddr for c in child.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
            found += [(place.ip, place.port) for place in places]
    return sorted(found)


def said(port: int, data: bytes) -> bytes:
    """What comes back."""
    try:
        with socket.create_connection(("127.0.0.1", port), 2) as to:
            to.sendall(data)
            to.settimeout(1)
            return to.recv(1000)
    except OSError:
        return b""
