"""Latency: from a record produced to its result consumed, every record counted, over several checkpoints."""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from confluent_kafka import Producer, TopicPartition

from bench.contenders import Contender, stolen
from bench.jobs import Job
from ksqlpy.runtime import Engine

__all__ = ["SETTLE", "Latency", "measure", "quantile", "ratios", "table"]

NEAR = 2.0
"""Seconds around a checkpoint in which records may have waited for it."""
QUIET = 0.01
"""Share of the processors' time around a checkpoint that may go to the machine's other guests: it is quiet then."""
SETTLE = 30.0
"""Seconds of records that are sent ahead and not counted: a job in a JVM that has just begun is another measure."""


@dataclass(frozen=True)
class Latency:
    """What became of the records of one job.

    ``sent``: how many results are due. ``samples``: for each result the time its record was sent (seconds) and how
    long it took (ms). ``boundaries``: the times of checkpoints. ``taken``: what the host had taken of its processors'
    time, at some times; both in seconds.
    """

    job: str
    who: Contender
    sent: int
    samples: Sequence[tuple[float, float]]
    boundaries: Sequence[float]
    taken: Sequence[tuple[float, float]]
    load: float

    @cached_property
    def millis(self) -> Sequence[float]:
        """All latencies, the smallest first."""
        return sorted(ms for _, ms in self.samples)

    @cached_property
    def calm(self) -> Sequence[float]:
        """The latencies of records that were not sent near a checkpoint, the smallest first."""
        return sorted(ms for at, ms in self.samples if all(abs(at - b) > NEAR for b in self.boundaries))

    @cached_property
    def stalls(self) -> Sequence[float]:
        """The largest latency near each checkpoint."""
        return [ms for _, ms in self._stalls]

    @cached_property
    def quiet_stalls(self) -> Sequence[float]:
        """Those of them while the host took next to nothing."""
        most = QUIET * 2 * NEAR * (os.cpu_count() or 1)
        return [ms for b, ms in self._stalls if self._taken(b - NEAR, b + NEAR) <= most]

    @cached_property
    def _stalls(self) -> Sequence[tuple[float, float]]:
        near = ((b, [ms for at, ms in self.samples if abs(at - b) <= NEAR]) for b in self.boundaries)
        return [(b, max(some)) for b, some in near if some]

    def _taken(self, first: float, last: float) -> float:
        """What the host took between two times."""
        before = [taken for at, taken in self.taken if at <= first]
        until = [taken for at, taken in self.taken if at <= last]
        return until[-1] - before[-1] if before else 0.0


def quantile(ordered: Sequence[float], q: float) -> float:
    """The value below which a share ``q`` lies; not a number where there are none."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * q))] if ordered else float("nan")


def measure(engine: Engine, who: Contender, job: Job, suffix: str, *, rate: int, seconds: float) -> Latency:
    """Runs a job and measures for that long, at that many records a second.

    Before that it gets records for ``SETTLE`` seconds, whose results are waited for: a first batch has to be set up,
    and a JVM that has just been started compiles what it runs. Jobs run for weeks.
    """
    engine.execute(job.setup.format(n=suffix, p=job.partitions))
    job.send_tables(engine.bootstrap, suffix, int(time.time() * 1000))
    producer = Producer({"bootstrap.servers": engine.bootstrap, "linger.ms": 0})
    sink = f"O{suffix}"
    samples: list[tuple[float, float]] = []

    boundaries: set[float] = set()
    taken: list[tuple[float, float]] = []

    def due(count: int) -> int:
        """So many results come of so many records, at least."""
        return int(count * job.timed) - job.held

    def send(first: int, count: int, late: float) -> None:
        """Sends records and waits for their results, at most ``late`` seconds after the last one."""
        begin = time.time()
        for i in range(count):
            wait = begin + i / rate - time.time()
            if wait > 0:
                time.sleep(wait)
            key, value = job.record(first + i, time.time())
            producer.produce(job.topic(first + i, suffix), key=key, value=value)
            producer.poll(0)
            if i % rate == 0:  # only the last few commits stay
                boundaries.update(run.boundaries())
                taken.append((time.time(), stolen()))
        producer.flush()
        deadline = time.time() + late
        while len(samples) < due(count) and time.time() < deadline:
            run.check()
            time.sleep(0.1)

    with who.run(engine, job, suffix, sink, quick=True) as run:
        run.wait()
        done = threading.Event()
        reader = threading.Thread(target=_read, args=(engine, job, sink, samples, done))
        reader.start()
        try:
            send(0, settling := int(rate * SETTLE), 60)
            if len(samples) < due(settling):
                raise RuntimeError(f"{who.name}, {job.name}: {len(samples)} results of {settling} records")
            samples.clear()
            del taken[:-1]
            send(settling, count := int(rate * seconds), 20)
        finally:
            done.set()
            reader.join()
        boundaries.update(run.boundaries())
        return Latency(job.name, who, due(count), samples, sorted(boundaries), taken, os.getloadavg()[0])


def _read(engine: Engine, job: Job, topic: str, samples: list[tuple[float, float]], done: threading.Event) -> None:
    sink = engine.catalog.sources.get(topic)
    consumer = engine.kafka.reader(committed=True)  # as peers write in transactions
    consumer.assign([TopicPartition(topic, number, 0) for number in range(job.partitions)])
    while not done.is_set():
        message = consumer.poll(0.2)
        if message is None or message.error() is not None:
            continue
        now, value = time.time(), message.value()
        if value is None:  # the tombstone of a session
            continue
        sent = job.sent_at(value, sink)
        samples.append((sent, (now - sent) * 1000))
    consumer.close()


def table(results: Sequence[Latency]) -> str:
    """The figures, a row a job and contender; for those that checkpoint also what is left without that."""
    quantiles = (0.5, 0.9, 0.99, 0.999)
    head = " ".join(f"{name:>8}" for name in ("due", "out", "p50", "p90", "p99", "p99.9", "max"))
    lines = [f"{'job':18} {'who':32} {head} (ms)   load stolen (s)"]
    for r in results:
        cells = " ".join(f"{quantile(r.millis, q):8.1f}" for q in (*quantiles, 1))
        gone = r.taken[-1][1] - r.taken[0][1] if r.taken else 0.0
        lines.append(f"{r.job:18} {r.who.name:32} {r.sent:8} {len(r.millis):8} {cells} {r.load:11.1f} {gone:10.1f}")
        if r.boundaries:
            cells = " ".join(f"{quantile(r.calm, q):8.1f}" for q in (*quantiles, 1))
            lines.append(f"{'':18} {'  without boundaries':32} {'':8} {len(r.calm):8} {cells}")
        if r.stalls:
            shown = " ".join(f"{s:.0f}" for s in r.stalls)
            median = statistics.median(r.stalls)
            lines.append(f"{'':18}   stalls at boundaries: median {median:.0f} ms of {len(r.stalls)} ({shown})")
        if r.quiet_stalls and len(r.quiet_stalls) < len(r.stalls):
            where = f"where the host took at most {QUIET:.0%}"
            median = statistics.median(r.quiet_stalls)
            lines.append(f"{'':18}     {where}: median {median:.0f} ms of {len(r.quiet_stalls)}")
        if len(r.millis) < r.sent:
            lines.append(f"{'':18}   {r.sent - len(r.millis)} results are missing")
    return "\n".join(lines)


def ratios(results: Sequence[Latency]) -> str:
    """ksqlpy's latencies over those of the others in the same run: below 1 ksqlpy is the quicker one."""
    lines = [f"{'ksqlpy / another':72} {'p50':>6} {'p99':>6}   without boundaries {'p50':>6} {'p99':>6}"]
    for r in (r for r in results if r.who.ours):
        for peer in (p for p in results if not p.who.ours and p.job == r.job):
            all_ = " ".join(f"{quantile(r.millis, q) / quantile(peer.millis, q):6.2f}" for q in (0.5, 0.99))
            calm = " ".join(f"{quantile(r.calm, q) / quantile(peer.millis, q):6.2f}" for q in (0.5, 0.99))
            lines.append(f"{r.job:18} {r.who.name + ' / ' + peer.who.name:53} {all_}   {'':18} {calm}")
    return "\n".join(lines)
