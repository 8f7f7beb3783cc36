"""POST /inserts-stream: rows a second that are acknowledged on one connection, over HTTP/1.1 and HTTP/2."""

from __future__ import annotations

import select
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from bench.server.framed import Framed
from bench.server.rig import Rig, told

__all__ = ["inserts"]

TARGET = b'{"target": "RIDES"}\n'
ROWS = 1_000
BLOCK = b"".join(b'{"ID": "r%d", "KM": %d.5, "N": %d, "CITY": "Ulm"}\n' % (n, n % 50, n) for n in range(ROWS))
LATE = 30.0
"""Seconds without an answer, after which none is expected."""
WARM_UP = 3.0


def inserts(rig: Rig) -> Iterator[str]:
    """A line for each protocol."""
    ways: dict[str, Callable[[tuple[str, int], float], float]] = {"HTTP/1.1": _plain, "HTTP/2": _framed}
    found: dict[str, list[float]] = {name: [] for name in ways}
    with rig.serve("inserts", warm=False) as server:
        server.statements(
            "CREATE STREAM RIDES (ID STRING KEY, KM DOUBLE, N INT, CITY STRING)"
            " WITH (KAFKA_TOPIC='bench_rides', VALUE_FORMAT='JSON', PARTITIONS=1);"
        )
        url = urlsplit(server.url)
        at = url.hostname or "", url.port or 0
        for way in ways.values():
            way(at, min(WARM_UP, rig.seconds))
        for _ in range(rig.rounds):
            for name, way in ways.items():
                found[name].append(way(at, rig.seconds))
    for name, rates in found.items():
        rounds = " ".join(f"{r:,.0f}" for r in rates)
        what = f"{statistics.median(rates):,.0f} rows/s acknowledged on one connection over {name} (median of {rounds})"
        yield told(what, "at least 20,000")


def _plain(at: tuple[str, int], seconds: float) -> float:
    """Rows a second over HTTP/1.1: until the last is acknowledged of those that are sent in so many seconds."""
    block, sent, acked, ended = _chunk(BLOCK), 0, 0, False
    with socket.create_connection(at) as connection:
        connection.sendall(
            b"POST /inserts-stream HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n" + _chunk(TARGET)
        )
        connection.setblocking(False)
        begin, waits = time.monotonic(), memoryview(b"")
        while not ended or acked < sent:
            if not waits and not ended:
                ended = time.monotonic() - begin > seconds
                waits = memoryview(b"0\r\n\r\n" if ended else block)
                sent += 0 if ended else ROWS
            readable, writable, _ = select.select([connection], [connection] if waits else [], [], LATE)
            if writable:
                waits = waits[connection.send(waits) :]
            if readable:
                data = connection.recv(2**18)
                if not data or b"error" in data:
                    raise RuntimeError(f"the rows were not taken: {data.decode(errors='replace')}")
                acked += data.count(b"}")
            elif not writable:
                raise RuntimeError(f"{acked:,} of {sent:,} rows were acknowledged")
        return acked / (time.monotonic() - begin)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _framed(at: tuple[str, int], seconds: float) -> float:
    """As :func:`_plain`, over HTTP/2."""
    connection, waits, sent, ended = Framed(at, "/inserts-stream"), TARGET, 0, False
    with connection.socket:
        begin = time.monotonic()
        while not ended or connection.lines < sent:
            if not waits and not ended and not connection.waits:
                ended = time.monotonic() - begin > seconds
                if ended:
                    connection.send(b"", end=True)
                else:
                    waits = BLOCK
                    sent += ROWS
            if waits and not connection.waits:
                some = waits[: connection.room]
                connection.send(some)
                waits = waits[len(some) :]
            readable, writable, _ = select.select(
                [connection.socket], [connection.socket] if connection.waits else [], [], LATE
            )
            if writable:
                connection.flush()
            if readable:
                connection.read()
            elif not writable:
                raise RuntimeError(f"{connection.lines:,} of {sent:,} rows were acknowledged")
        return connection.lines / (time.monotonic() - begin)
