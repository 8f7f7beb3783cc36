"""A server with many queries that are not run: ``python -m bench.page.catalogue N`` prints its address, and serves.

The catalogue, the REST API and the figures' stream are the server's own; what queries would count is made up.
"""

from __future__ import annotations

import itertools
import signal
import sys
import threading
from typing import Any

from ksqlpy.figures import Counts, EngineMetrics, Machine, QueryFigures, QueryMetrics
from ksqlpy.server.run import ServerThread
from tests.access.engine import AccessEngine

BRANCHES = 5
"""Queries that read one stream."""


def statements(count: int) -> str:
    """So many queries: trees, in which each stream is read by some queries, with a filter or a count."""
    made = ["CREATE STREAM n0 (id INT KEY, v INT) WITH (KAFKA_TOPIC='n0', VALUE_FORMAT='JSON', PARTITIONS=1);"]
    streams = ["n0"]
    for number in range(1, count + 1):
        source = streams[(number - 1) // BRANCHES]
        if number % 3:
            made.append(f"CREATE STREAM n{number} AS SELECT id, v FROM {source} WHERE v > {number};")
            streams.append(f"n{number}")
        else:
            made.append(f"CREATE TABLE n{number} AS SELECT id, COUNT(*) AS v FROM {source} GROUP BY id;")
    return "".join(made)


def serve(count: int) -> None:
    """Until SIGTERM."""
    engine: Any = AccessEngine(statements(count))
    catalog, looks = engine.catalog, itertools.count()

    def metrics() -> EngineMetrics:
        now = next(looks)
        return EngineMetrics("0", "page", tuple(_figures(q, catalog, n, now) for n, q in enumerate(catalog.queries)),
                             {"used": count, "free": 0}, age=0.0, machine=Machine(heap_used=now))  # fmt: skip

    engine.metrics = metrics
    end = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: end.set())
    with ServerThread(engine) as server:
        print(server.url, flush=True)
        end.wait()


def _figures(query: str, catalog: Any, number: int, now: int) -> QueryMetrics:
    own = catalog.queries[query]
    read = {catalog.sources[name].topic: now * (number + 1) for name in own.sources}
    sent = {catalog.sources[own.sink].topic: now * (number + 1)}
    return QueryMetrics(query, own.sink, "RUNNING", 1.0, 0, 0.0, QueryFigures(Counts(consumed=read, sent=sent)))


if __name__ == "__main__":
    serve(int(sys.argv[1]))
