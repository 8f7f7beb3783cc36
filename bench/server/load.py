"""Requests at an even rate over connections that are kept: how long each takes, from the time at which it was due.

One that finds all connections busy waits for one, and that counts. There is one thread, plain sockets, and ``select``,
whose timeouts are exact to some microseconds: the server needs the processors.
"""

from __future__ import annotations

import gc
import re
import select
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

__all__ = ["Answers", "even", "request"]

LATE = 30.0
"""Seconds without an answer, after which none is expected."""
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


@dataclass
class Answers:
    """How long they took (ms), in the order in which they came, and how many had which status."""

    millis: list[float] = field(default_factory=list)
    codes: Counter[int] = field(default_factory=Counter)


def request(method: str, path: str, body: bytes = b"", headers: Mapping[str, str] = {}) -> bytes:
    """The bytes of a request."""
    told = {"Host": "127.0.0.1", **headers, **({"Content-Length": str(len(body))} if body else {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


class _Line:
    """A connection, on which one request is made at a time; ``local``: the address that it comes from."""

    def __init__(self, url: str, local: str) -> None:
        at = urlsplit(url)
        self.socket = socket.create_connection((at.hostname, at.port), LATE, (local, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.due = 0.0
        self._got = bytearray()

    def fileno(self) -> int:
        """For ``select``."""
        return self.socket.fileno()

    def ask(self, data: bytes, due: float) -> None:
        """Sends a request."""
        self._got.clear()
        self.due = due
        self.socket.sendall(data)

    def status(self) -> int | None:
        """Of the answer, once all of it is there. Raises RuntimeError where the server closes the connection."""
        data = self.socket.recv(2**18)
        if not data:
            raise RuntimeError("the server has closed a connection")
        self._got += data
        head = self._got.find(b"\r\n\r\n") + 4
        if head < 4:
            return None
        length = _LENGTH.search(self._got, 0, head)
        whole = self._got.endswith(b"0\r\n\r\n") if length is None else len(self._got) >= head + int(length[1])
        return int(self._got[9:12]) if whole else None


def even(
    url: str,
    made: Callable[[int], bytes],
    *,
    rate: float,
    seconds: float,
    connections: int = 16,
    local: Sequence[str] = ("127.0.0.1",),
) -> Answers:
    """Sends the requests ``made(0)``, ``made(1)``, … at that rate. ``local``: the connections' own addresses, in turn.

    Raises RuntimeError where there is no answer.
    """
    free = deque(_Line(url, local[n % len(local)]) for n in range(connections))
    busy: set[_Line] = set()
    found, sent, total = Answers(), 0, int(rate * seconds)
    gc.collect()
    gc.disable()
    begin = time.perf_counter()
    try:
        while len(found.millis) < total:
            now = time.perf_counter()
            while free and sent < total and begin + sent / rate <= now:
                line = free.popleft()
                line.ask(made(sent), begin + sent / rate)
                busy.add(line)
                sent += 1
            wait = max(0.0, begin + sent / rate - time.perf_counter()) if free and sent < total else LATE
            ready, _, _ = select.select(busy, (), (), wait)
            if not ready and wait == LATE:
                raise RuntimeError(f"{len(busy)} requests have no answer after {LATE:g} s")
            for line in ready:
                if (code := line.status()) is not None:
                    found.millis.append((time.perf_counter() - line.due) * 1000)
                    found.codes[code] += 1
                    busy.remove(line)
                    free.append(line)
    finally:
        gc.enable()
        for line in (*free, *busy):
            line.socket.close()
    return found
