"""A crowd of idle and slow connections, streams that are reset and push queries that nobody reads, again and again.

Memory and descriptors are the same afterwards. ``KSQLPY_CROWD_SECONDS``: for how long, 60 if not given.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import time
from pathlib import Path

import h2.config
import h2.connection
import httpx
import psutil
import pytest

from tests.harness.server import free_port
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
SECONDS = float(os.environ.get("KSQLPY_CROWD_SECONDS", "60"))
CROWD = 2_000
UNREAD = 50
"""Push queries that nobody reads, of the crowd."""
PART = b"GET /info HTTP/1.1\r\nHost: localhost\r\n"


def connected(port: int, data: bytes = b"") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=30)
    made.sendall(data)
    return made


def unread(port: int) -> socket.socket:
    body = json.dumps({"sql": "SELECT * FROM wide EMIT CHANGES LIMIT 1000000;"}).encode()
    head = "POST /query-stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return connected(port, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)


def reset(port: int) -> None:
    """Sends requests in HTTP/2 that are taken back at once, until the server has enough of it."""
    client = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
    client.initiate_connection()
    head = [(":method", "GET"), (":path", "/info"), (":authority", "localhost"), (":scheme", "http")]
    with contextlib.suppress(OSError), connected(port) as one:
        for number in range(1, 1_000, 2):
            client.send_headers(number, head)
            client.reset_stream(number)
            one.sendall(client.data_to_send())


def slow(port: int, seconds: float) -> None:
    """A crowd that is renewed one by one, and says now and then a byte more."""
    end, chance = time.monotonic() + seconds, random.Random(1)
    crowd: list[socket.socket] = []
    try:
        while time.monotonic() < end:
            while len(crowd) < CROWD:
                wants_rows = len(crowd) % (CROWD // UNREAD) == 0
                crowd.append(unread(port) if wants_rows else connected(port, PART[: chance.randrange(len(PART))]))
            for number in chance.sample(range(CROWD), 100):
                with contextlib.suppress(OSError):
                    crowd[number].send(b"X")
            for number in sorted(chance.sample(range(CROWD), 20), reverse=True):
                crowd.pop(number).close()
            reset(port)
            time.sleep(0.5)
    finally:
        for one in crowd:
            one.close()


@pytest.mark.extended("a minute, or as long as is said")
def test_a_crowd_leaves_nothing_behind() -> None:
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.support.fake_engine", str(port), "0"], cwd=ROOT, stdout=subprocess.DEVNULL
    )
    process = psutil.Process(server.pid)
    try:
        assert until(lambda: is_ready(port))
        slow(port, 5)  # what a first crowd leaves is kept for the next one: threads, buffers
        assert until(lambda: process.num_fds() < 100)
        before = process.memory_info().rss, process.num_fds(), process.num_threads()
        slow(port, SECONDS)
        assert until(lambda: process.num_fds() <= before[1] + 5), (before, process.num_fds())
        after = process.memory_info().rss, process.num_fds(), process.num_threads()
        assert is_ready(port)
        print(f"{SECONDS:g} s: memory, descriptors, threads {before} before, {after} after")
        assert after[0] < before[0] + 64e6
    finally:
        server.terminate()
        server.wait()


def is_ready(port: int) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        return httpx.get(f"http://127.0.0.1:{port}/info", timeout=5, trust_env=False).status_code == 200
    return False
