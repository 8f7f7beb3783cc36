"""Statements that change the catalog, beside queries that run: CREATE STREAM over a topic that is there, and DROP."""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench.beside import fed
from bench.server.rig import Rig, spread, told

__all__ = ["ddl"]

TOPIC = "BENCH_DDL"
FED = 10.0
"""Records a second that each of the queries reads."""


def ddl(rig: Rig) -> Iterator[str]:
    """A line for each of the two statements."""
    took: dict[str, list[float]] = {"CREATE STREAM": [], "DROP STREAM": []}
    with rig.serve("ddl", memory="1500m") as server:
        states = rig.start_queries(server, rig.queries, TOPIC)
        with fed(rig.bootstrap, TOPIC, FED):
            end = time.monotonic() + rig.seconds * rig.rounds
            while time.monotonic() < end:
                for kind, sql in (
                    (
                        "CREATE STREAM",
                        f"CREATE STREAM D (K STRING KEY, V INT) WITH (KAFKA_TOPIC='{TOPIC}', VALUE_FORMAT='JSON');",
                    ),
                    ("DROP STREAM", "DROP STREAM D;"),
                ):
                    begin = time.perf_counter()
                    server.statements(sql)
                    took[kind].append((time.perf_counter() - begin) * 1000)
    for kind, millis in took.items():
        yield told(f"{kind} beside {rig.queries} queries ({states}): {spread(millis)}", "p50 at most 200 ms")
