"""What exactly-once costs: both guarantees at the same time, side by side in one JVM, on the same records.

One after the other they differ by more than the cost itself, since the host takes processors away in waves; side by
side both miss the same. Each query's task has a thread of its own and they compete for the same processors, so the
ratio of their results is that of the processor time each result takes.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from bench import latency, throughput
from bench.contenders import ours, stolen
from bench.jobs import Job
from bench.latency import Latency, quantile
from bench.throughput import Backlog
from ksqlpy.runtime import Engine

__all__ = ["Cost", "cost", "table"]


@dataclass(frozen=True)
class Cost:
    """One job with both guarantees. ``pairs``: of each round the results a second while both ran: exactly_once first.

    ``once`` and ``least``: latencies with exactly_once and at_least_once. ``stolen``: seconds of processor time that
    the host took meanwhile.
    """

    job: str
    pairs: Sequence[tuple[float, float]]
    once: Latency
    least: Latency
    stolen: float


def cost(engine: Engine, job: Job, suffix: str, *, records: int, rounds: int, rate: int, seconds: float) -> Cost:
    """Runs a job over a backlog so many times, and one time more to warm up, then live."""
    before = stolen()
    throughput.fill(engine, job, suffix, records)
    pairs = [_pair(engine, job, suffix, number, records) for number in range(rounds + 1)][1:]
    with ThreadPoolExecutor(2) as pool:
        live = [
            pool.submit(latency.measure, engine, who, job, f"{suffix}_{i}", rate=rate, seconds=seconds)
            for i, who in enumerate(ours())
        ]
    once, least = (found.result() for found in live)
    return Cost(job.name, pairs, once, least, stolen() - before)


def _pair(engine: Engine, job: Job, suffix: str, number: int, records: int) -> tuple[float, float]:
    """Results a second with exactly_once and with at_least_once, from when both have some to when one has all."""
    order = [0, 1] if number % 2 else [1, 0]  # who comes first, is a little ahead
    with ThreadPoolExecutor(2) as pool:
        running = {
            i: pool.submit(throughput.measure, engine, ours()[i], job, suffix, f"{suffix}_{number}_{i}", records)
            for i in order
        }
    once, least = running[0].result(), running[1].result()
    # A run's times are since its own start.
    least = replace(least, seen=[(at + least.begin - once.begin, n) for at, n in least.seen])
    begin, end = max(once.first, least.first), min(once.seen[-1][0], least.seen[-1][0])
    first, second = ((_at(run, end) - _at(run, begin)) / (end - begin) for run in (once, least))
    return first, second


def _at(run: Backlog, at: float) -> float:
    """How many results there were at a time, which between two looks grow evenly."""
    for (t0, n0), (t1, n1) in zip(run.seen, run.seen[1:], strict=False):
        if t0 <= at <= t1:
            return n0 + (n1 - n0) * (at - t0) / (t1 - t0)
    return run.seen[-1][1]


def table(found: Sequence[Cost]) -> str:
    """The figures, a row a job: ratios of results a second, and the medians of latencies."""
    lines = ["exactly_once / at_least_once, side by side: results a second over a backlog; p50 of latencies, live (ms)"]
    lines.append(
        f"{'job':18} {'ratio':>6} {'p50':>6} {'of alo':>6} {'more':>6} {'stolen (s)':>10}   ratio of each round"
    )
    for c in found:
        each = [once / least for once, least in c.pairs]
        once, least = (quantile(r.millis, 0.5) for r in (c.once, c.least))
        shown = " ".join(f"{r:.2f}" for r in each)
        cells = f"{statistics.median(each):6.3f} {once:6.2f} {least:6.2f} {once - least:6.2f} {c.stolen:10.1f}"
        lines.append(f"{c.job:18} {cells}   {shown}")
        if missing := sum(r.sent - len(r.millis) for r in (c.once, c.least)):
            lines.append(f"{'':18}   {missing} results are missing")
    return "\n".join(lines)
