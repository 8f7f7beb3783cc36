"""Throughput: a backlog is there, a job starts at its beginning, and the results are counted as they come."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.contenders import Contender
from bench.jobs import Job, bulk_producer, send
from bench.results import Results, watch
from ksqlpy.runtime import Engine

__all__ = ["Backlog", "fill", "measure", "ratios", "table"]


@dataclass(frozen=True)
class Backlog(Results):
    """How one run went.

    ``begin``: its start, by the clock of ``time.monotonic``; ``cpu``: seconds of processor time.
    """

    job: str
    who: Contender
    begin: float
    cpu: float
    load: float


def fill(engine: Engine, job: Job, suffix: str, records: int) -> float:
    """Declares the job's sources and writes a backlog; returns the seconds that it took.

    The records are a millisecond apart and end about now: so windows of some seconds come and go.
    """
    engine.execute(job.setup.format(n=suffix, p=job.partitions))
    first = int(time.time() * 1000) - records
    job.send_tables(engine.bootstrap, suffix, first - 1)
    producer = bulk_producer(engine.bootstrap)
    begin = time.monotonic()
    for i in range(records):
        key, value = job.backlog_record(i)
        send(producer, job.topic(i, suffix), key, value, at=first + i)
    producer.flush()
    return time.monotonic() - begin


def measure(engine: Engine, who: Contender, job: Job, suffix: str, sink: str, records: int) -> Backlog:
    """Runs a job over the backlog ``suffix`` until the last result is there."""
    begin = time.monotonic()
    with who.run(engine, job, suffix, sink, quick=False) as run:
        due = int(records * job.results) - job.held
        many, marked = job.partitions, who.transactional
        found = watch(engine.bootstrap, sink, due, begin, partitions=many, transactional=marked, check=run.check)
        load = os.getloadavg()[0]
        return Backlog(due, found.seen, job.name, who, begin, run.cpu(), load, written=found.written)


# ------------------------------------------------------------ tables

_MEASURES: tuple[tuple[str, Callable[[Backlog], float]], ...] = (
    ("flow", lambda b: b.flow),
    ("2nd half", lambda b: b.second_half),
    ("whole", lambda b: b.whole),
)

LEGEND = """results a second, medians of the rounds
  flow: from the first result written to the last; 2nd half: from half of them to the last; whole: from the start until
  readers see the last, where ksqlpy starts by a statement in a server that runs, the others by the launch of their
  processes"""


def _median(values: Sequence[float]) -> float:
    """The median of those that are numbers."""
    known = [v for v in values if v == v]
    return statistics.median(known) if known else float("nan")


def _by_job(runs: Sequence[Backlog]) -> dict[str, dict[Contender, list[Backlog]]]:
    found: dict[str, dict[Contender, list[Backlog]]] = {}
    for run in runs:
        found.setdefault(run.job, {}).setdefault(run.who, []).append(run)
    return found


def ratios(runs: Sequence[Backlog]) -> str:
    """ksqlpy's results a second over those of the others: above 1 ksqlpy is the quicker one."""
    lines = [f"{'ksqlpy / another':72} " + " ".join(f"{name:>8}" for name, _ in _MEASURES)]
    for job, contenders in _by_job(runs).items():
        for who in (w for w in contenders if w.ours):
            for peer in (w for w in contenders if not w.ours):
                cells = [
                    _median([of(r) for r in contenders[who]]) / _median([of(r) for r in contenders[peer]])
                    for _, of in _MEASURES
                ]
                shown = " ".join(f"{c:8.2f}" for c in cells)
                lines.append(f"{job:18} {who.name + ' / ' + peer.name:53} {shown}")
    return "\n".join(lines)


def table(runs: Sequence[Backlog]) -> str:
    """The figures themselves, a row a job and contender."""
    head = " ".join(f"{name:>8}" for name, _ in _MEASURES)
    lines = [f"{'job':18} {'who':32} {head} {'1st (s)':>8} {'cpu (s)':>8} {'load':>5}   flow of each round"]
    for job, contenders in _by_job(runs).items():
        for who, some in contenders.items():
            cells = " ".join(f"{_median([of(r) for r in some]):8.0f}" for _, of in _MEASURES)
            rest = f"{_median([r.first for r in some]):8.1f} {_median([r.cpu for r in some]):8.1f}"
            load = f"{_median([r.load for r in some]):5.1f}"
            each = " ".join(f"{r.flow:.0f}" for r in some)
            lines.append(f"{job:18} {who.name:32} {cells} {rest} {load}   {each}")
            if missing := sum(r.missing for r in some):
                lines.append(f"{'':18}   {missing} results are missing")
    return "\n".join(lines)
