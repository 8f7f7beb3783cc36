"""GET /metrics of a server with many queries."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import httpx

from bench.beside import fed
from bench.server.rig import Rig, told
from ksqlpy.server.metrics import KEPT

__all__ = ["scrape"]

TIMES = 5
"""Scrapes in a round."""
TOPIC = "BENCH_SCRAPE"
FED = 10.0
"""Records a second that each of the queries reads."""


SETTLES = 30.0
"""Seconds between the start of the queries and the first scrape."""


def scrape(rig: Rig) -> Iterator[str]:
    """One line. What the engine has told is kept for a moment: each scrape comes after that."""
    count = rig.queries * 5
    with rig.serve("scrape", memory="3g") as server, httpx.Client(base_url=server.url, trust_env=False) as web:
        states = rig.start_queries(server, count, TOPIC)
        took, size, series = [], 0, 0
        with fed(rig.bootstrap, TOPIC, FED):
            time.sleep(SETTLES)
            for _ in range(TIMES * rig.rounds + 1):
                time.sleep(KEPT + 0.2)
                begin = time.perf_counter()
                answer = web.get("/metrics", timeout=60)
                took.append((time.perf_counter() - begin) * 1000)
                answer.raise_for_status()
                size = len(answer.content)
                series = sum(1 for line in answer.text.splitlines() if not line.startswith("#"))
    del took[0]  # it opens the connection
    yield told(
        f"GET /metrics with {count} queries ({states}): median {statistics.median(took):.0f} ms, max {max(took):.0f} ms"
        f" of {len(took)}; {series:,} series, {size / 1000:,.0f} kB",
        "at most 100 ms",
    )
