"""Throughput of a filter over a backlog, with /metrics asked each second and without, in rounds that alternate."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from bench.beside import beside
from bench.jobs import JOBS, bulk_producer, send
from bench.results import watch
from bench.server.rig import Rig, told
from tests.harness.server import Server

__all__ = ["watched"]

JOB = next(job for job in JOBS if job.name == "filter + project")
WARM = 1
"""How often the backlog is read ahead of the rounds."""


def watched(rig: Rig) -> Iterator[str]:
    """One line."""
    found: dict[bool, list[float]] = {False: [], True: []}
    with rig.serve("watched") as server:
        server.statements(JOB.setup.format(n="WATCHED", p=1))
        producer = bulk_producer(rig.bootstrap)
        for number in range(rig.records):
            send(producer, JOB.topic(number, "WATCHED"), *JOB.backlog_record(number))
        producer.flush()
        for number in range(WARM):
            _flow(rig, server, f"W{number}")
        for number in range(rig.rounds * 2):  # in the order a b b a a b …
            for asked in (False, True)[:: 1 if number % 2 == 0 else -1]:
                if asked:
                    with _scraping(server):
                        found[True].append(_flow(rig, server, f"A{number}"))
                else:
                    found[False].append(_flow(rig, server, f"N{number}"))
    without, with_ = (statistics.median(found[asked]) for asked in (False, True))
    each = "; ".join(" ".join(f"{rate:,.0f}" for rate in found[asked]) for asked in (True, False))
    yield told(
        f"a filter gives {with_:,.0f} results/s with /metrics asked each second, {without:,.0f} without: ratio"
        f" {with_ / without:.3f} (medians of {each})",
        "at least 0.99",
    )


def _flow(rig: Rig, server: Server, sink: str) -> float:
    """Results a second of one run over the backlog."""
    (made,) = server.statements(JOB.query.format(n="WATCHED", o=sink))
    found = watch(rig.bootstrap, sink, rig.records, time.monotonic())
    server.statements(f"TERMINATE {made['commandStatus']['queryId']};")
    if found.missing:
        raise RuntimeError(f"{found.missing:,} of {rig.records:,} results did not come")
    return found.flow


@contextmanager
def _scraping(server: Server) -> Iterator[None]:
    with (
        httpx.Client(base_url=server.url, trust_env=False, timeout=60) as web,
        beside(lambda: web.get("/metrics").raise_for_status(), every=1),
    ):
        yield
