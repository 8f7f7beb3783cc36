"""POST /complete and POST /check with 1,000 sources, on the wall, over HTTP, as the page asks while one types."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx

from bench.page.browsers import Bench, p95, told
from tests.harness.server import Server

__all__ = ["SOURCES", "complete", "make_sources"]

SOURCES = 1000
COLUMNS = 20
AT_ONCE = 25
ROUNDS = 40
"""How often each text is sent."""
WARM = 5
"""How often ahead, uncounted."""

TEXTS = (
    "SELECT c1, c2 FROM s7 EMIT CHANGES;",
    "CREATE STREAM x AS SELECT UCASE(c1) AS u, id FROM s80 WHERE c2 LIKE 'a%' EMIT CHANGES;",
    "SELECT c1, COUNT(*) AS n FROM s500 WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY c1 EMIT CHANGES;",
    "SELECT a.c1, b.c2 FROM s10 a JOIN s999 b WITHIN 1 HOUR ON a.id = b.id EMIT CHANGES;",
    "SELECT c1, nothing FROM s3 EMIT CHANGES;",
    "SELECT * FROM s",
)
"""The last two have errors."""


def complete(bench: Bench) -> Iterator[str]:
    """A line each."""
    with bench.serve("complete") as server:
        make_sources(server, SOURCES)
        with httpx.Client(base_url=server.url, trust_env=False, timeout=60) as web:
            asked = {
                # At the end of each word: there the page asks for options.
                "/complete": (
                    [{"text": t, "offset": at} for t in TEXTS for at in (8, len(t) // 2, len(t))],
                    "p95 at most 50 ms",
                ),
                "/check": ([{"text": text, "properties": {}, "variables": {}} for text in TEXTS], "p95 at most 150 ms"),
            }
            for path, (bodies, wanted) in asked.items():
                for _ in range(WARM):
                    _took(web, path, bodies)
                found = [ms for _ in range(ROUNDS) for ms in _took(web, path, bodies)]
                shown = f"{SOURCES:,} sources of {COLUMNS} columns, {len(bodies)} requests in turn"
                yield told(f"POST {path}: {p95(found)}; {shown}", wanted)


def _took(web: httpx.Client, path: str, bodies: list[dict[str, Any]]) -> list[float]:
    found = []
    for body in bodies:
        began = time.perf_counter()
        web.post(path, json=body).raise_for_status()
        found.append((time.perf_counter() - began) * 1000)
    return found


def make_sources(server: Server, count: int) -> None:
    """Streams S0, S1, … over one topic, with 20 columns each."""
    columns = ", ".join(f"c{i} STRING" for i in range(COLUMNS))
    end = "WITH (KAFKA_TOPIC='wide', VALUE_FORMAT='JSON', PARTITIONS=1);"
    for first in range(0, count, AT_ONCE):
        numbers = range(first, min(count, first + AT_ONCE))
        server.statements("".join(f"CREATE STREAM s{n} (id INT KEY, {columns}) {end}" for n in numbers))
