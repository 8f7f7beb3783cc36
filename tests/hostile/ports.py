"""The ports of a server's JVMs, and what does not belong there."""

from __future__ import annotations

import ipaddress
import os
import socket
import threading
from typing import Self

import psutil

from tests.harness.server import Server

__all__ = ["NONSENSE", "Overheard", "at_loopback", "listening", "said"]

NONSENSE = [b"GET / HTTP/1.1\r\n\r\n", bytes(800), b"\x7f" + b"\xff" * 7 + b"a" * 100, os.urandom(4096)]


def listening(server: Server) -> list[tuple[str, int]]:
    """Address and port of all that the server's JVMs listen on, but that for Python."""
    found = []
    for child in psutil.Process(server.pid).children(recursive=True):
        if "java" in child.name():
            places = [c.laddr for c in child.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
            found += [(place.ip, place.port) for place in places]
    return sorted(found)


def at_loopback(server: Server) -> bool:
    """Whether server and JVMs listen on addresses of this machine only, those for Python too."""
    processes = [psutil.Process(server.pid), *psutil.Process(server.pid).children(recursive=True)]
    places = [c.laddr.ip for p in processes for c in p.net_connections("inet") if c.status == psutil.CONN_LISTEN]
    assert len(places) >= 4, places  # the server's port, that of Python in the JVM, and two of Spark's at least
    return all(ipaddress.ip_address(ip.removeprefix("::ffff:")).is_loopback for ip in places)


def said(port: int, data: bytes) -> bytes:
    """What comes back."""
    try:
        with socket.create_connection(("127.0.0.1", port), 2) as to:
            to.sendall(data)
            to.settimeout(1)
            return to.recv(1000)
    except OSError:
        return b""


class Overheard:
    """What goes over the loopback interface in the clear, to or from some ports; a context manager. Needs root."""

    def __init__(self, word: bytes) -> None:
        """``word``: what is listened for."""
        self._word = word
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self.ports: set[int] = set()
        """Both ports of each packet in which the word was."""

    def __enter__(self) -> Self:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # all protocols
        self._socket.bind(("lo", 0))
        self._socket.settimeout(0.2)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()
        self._socket.close()

    def _listen(self) -> None:
        while not self._ended.is_set():
            try:
                packet = self._socket.recv(65536)[14:]  # behind the head of Ethernet
            except TimeoutError:
                continue
            tcp = packet[4 * (packet[0] & 15) :]
            if packet[9:10] == b"\x06" and self._word in tcp:
                self.ports |= {int.from_bytes(tcp[:2]), int.from_bytes(tcp[2:4])}
