"""What the jobs share: the broker, servers, queries that run, and how figures are told."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.latency import quantile
from ksqlpy.client import Client, Connection
from ksqlpy.connection import KafkaConnection
from ksqlpy.server.auth.tokens import create_token
from ksqlpy.server.auth.users import add_user
from tests.harness.server import Server

__all__ = ["NAME", "PASSWORD", "Guarded", "Rig", "spread", "told"]

NAME, PASSWORD = "alice", "correct horse"

AT_ONCE = 10
"""Statements in a request."""
PATIENCE = 300.0
"""Seconds until all queries run."""


class Guarded(Server):
    """A server with a user and an API token, by whom its own client logs in."""

    def __init__(self, connection: KafkaConnection, folder: Path, more: dict[str, str]) -> None:
        users, tokens = folder / "users", folder / "tokens"
        add_user(users, NAME, PASSWORD, frozenset({"admin"}))
        self.token = create_token(tokens, NAME, frozenset({"admin"}), 0)
        files = {"ksqlpy.auth.users.file": str(users), "ksqlpy.auth.tokens.file": str(tokens)}
        super().__init__(connection, folder, {**more, **files})
        self._client.close()
        self._client = Client(Connection(self.url, token=self.token))


@dataclass(frozen=True)
class Rig:
    """The broker, and how much is measured: see :func:`bench.server.server`."""

    bootstrap: str
    master: str
    seconds: float
    rounds: int
    queries: int
    records: int

    @contextmanager
    def serve(
        self, service: str, *, kind: type[Server] = Server, warm: bool = True, memory: str = "700m", audit: bool = False
    ) -> Iterator[Server]:
        """A started server. ``warm``: whether its JVM warms up; ``memory``: of that; ``audit``: if it has a log."""
        with tempfile.TemporaryDirectory(prefix="bench-server-") as folder:
            more = {
                "ksql.service.id": f"{service}_",
                "ksqlpy.spark.master": self.master,
                "ksqlpy.spark.memory": memory,
                "ksql.streams.auto.offset.reset": "earliest",
                "ksqlpy.warm.up": str(warm).lower(),
                **({"ksqlpy.audit.file": str(Path(folder) / "audit.log")} if audit else {}),
            }
            server = kind(KafkaConnection(self.bootstrap), Path(folder), more)
            try:
                server.start()
                yield server
            finally:
                server.close()

    def start_queries(self, server: Server, count: int, name: str) -> str:
        """Starts so many filters and GROUP BYs in turn over one topic of this name; gives the states that they have."""
        server.statements(
            f"CREATE STREAM {name} (K STRING KEY, V INT)"
            f" WITH (KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON', PARTITIONS=1);"
        )
        for first in range(0, count, AT_ONCE):
            server.statements("".join(_query(name, n) for n in range(first, min(count, first + AT_ONCE))))
        end = time.monotonic() + PATIENCE
        while (states := list(server.queries().values())).count("RUNNING") < count and time.monotonic() < end:
            time.sleep(1)
        return ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states)))


def _query(source: str, number: int) -> str:
    if number % 2:
        return f"CREATE TABLE {source}_{number} AS SELECT K, COUNT(*) AS N FROM {source} GROUP BY K;"
    return f"CREATE STREAM {source}_{number} AS SELECT K, V FROM {source} WHERE V >= 0;"


def told(what: str, wanted: str = "") -> str:
    """The line of a figure. ``wanted``: what it has to be, if anything."""
    return f"{what} ({f'wanted: {wanted}; ' if wanted else ''}load {os.getloadavg()[0]:.1f})"


def spread(millis: Sequence[float]) -> str:
    """Of how many, and their p50, p99 and maximum."""
    ordered = sorted(millis)
    p50, p99, most = (quantile(ordered, q) for q in (0.5, 0.99, 1))
    return f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, max {most:.1f} ms of {len(ordered):,}"
