"""Rows that are sent to POST /inserts-stream: some at once, or numbers one after the other while answers come."""

from __future__ import annotations

import itertools
import json
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from tests.harness.server import Server
from tests.support.waiting import until

__all__ = ["Numbers", "numbers_server", "post_rows"]

STEP = 100
"""Rows that are sent at once."""


def post_rows(url: str, first: Mapping[str, object], *rows: object) -> list[dict[str, Any]]:
    """The lines of the answer to some rows. ``first``: the line ahead of them."""
    content = "\n".join(json.dumps(line) for line in (first, *rows))
    answer = httpx.post(f"{url}/inserts-stream", content=content.encode(), timeout=60, trust_env=False)
    return [json.loads(line) for line in answer.text.splitlines()]


def numbers_server(broker: EmbeddedKafka, folder: Path, service: str, partitions: int = 1) -> Server:
    """A server as a process, with a stream ``numbers``."""
    server = Server(KafkaConnection(broker.bootstrap), folder, {"ksqlpy.warm.up": "false", "ksql.service.id": service})
    server.start()
    server.statements(
        f"CREATE STREAM numbers (n INT) WITH (KAFKA_TOPIC='numbers', VALUE_FORMAT='JSON', PARTITIONS={partitions});"
    )
    return server


class Numbers(threading.Thread):
    """Sends numbers as fast as they are taken, up to ``end`` if there is one, until the connection ends.

    With an ``id`` it goes on behind those that are there, whose number is ``standing``. ``sent``, ``acked``: how many
    there are, those of earlier connections among them.
    """

    def __init__(self, url: str, id: str | None = None, end: int | None = None) -> None:
        super().__init__(daemon=True)
        self._first = {"target": "numbers"} if id is None else {"target": "numbers", "id": id}
        self._end = end
        self.standing: int | None = 0 if id is None else None
        self.acked = self.sent = 0
        parsed = httpx.URL(url)
        self._socket = socket.create_connection((parsed.host, parsed.port or 0), timeout=60)
        head = "POST /inserts-stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        self._socket.sendall(head.encode())
        self._reading = threading.Thread(target=self._read, daemon=True)

    def run(self) -> None:
        """Sends them."""
        self._reading.start()
        try:
            self._send(f"{json.dumps(self._first)}\n")
            assert until(lambda: self.standing is not None)
            begin = self.standing or 0
            for first in itertools.count(begin, STEP) if self._end is None else range(begin, self._end, STEP):
                end = first + STEP if self._end is None else min(first + STEP, self._end)
                self._send("".join(f'{{"n": {n}}}\n' for n in range(first, end)))
                self.sent = end
            self._socket.sendall(b"0\r\n\r\n")
        except OSError:
            pass
        self._reading.join()

    def _send(self, text: str) -> None:
        self._socket.sendall(b"%x\r\n%s\r\n" % (len(text), text.encode()))

    def _read(self) -> None:
        """Lines never end in the midst of a chunk, and its head is a line of its own."""
        rest = b""
        try:
            while data := self._socket.recv(65_536):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    if line.startswith(b"{"):
                        told = json.loads(line)
                        assert told["status"] == "ok", told
                        self.acked = told["rows"] if "rows" in told else told["seq"] + 1
                        self.standing = self.acked if self.standing is None else self.standing
        except OSError:
            pass
