"""Throughput: a backlog is there, a job starts at its beginning, and the results are counted as they come.

Results are counted by the end offset of the sink topic, which costs next to nothing. In a topic that is written in
transactions markers take offsets too; where they are is read once all is over, so that the count is exact.
"""

from __future__ import annotations

import os
import statistics
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, TopicPartition

from bench.contenders import Contender, Run
from bench.jobs import Job, bulk_producer, send
from ksqlpy.runtime import Engine

__all__ = ["Backlog", "fill", "measure", "ratios", "table"]

LOOK = 0.02
"""Seconds between looks at the end of the sink."""
PATIENCE = 150.0
"""Seconds without a result after which no more are expected; more than two checkpoints."""


@dataclass(frozen=True)
class Backlog:
    """How one run went, in seconds since the start and numbers of results.

    ``begin``: the start, by the clock of ``time.monotonic``; ``due``: how many results there must be; ``seen``: how
    many were there at that time, whenever there were more; ``cpu``: seconds of processor time.
    """

    job: str
    who: Contender
    begin: float
    due: int
    seen: Sequence[tuple[float, int]]
    cpu: float
    load: float

    @property
    def missing(self) -> int:
        """Results that were not there when the run was given up."""
        return max(0, self.due - (self.seen[-1][1] if self.seen else 0))

    @property
    def flow(self) -> float:
        """Results a second from the first that was seen to the last."""
        return self._rate(1)

    @property
    def second_half(self) -> float:
        """Results a second in the second half: by then compilers and caches are warm."""
        return self._rate(self.due // 2)

    @property
    def whole(self) -> float:
        """Results a second from the start of the job to the last result."""
        return float("nan") if self.missing else self.due / self._at(self.due)[0]

    @property
    def first(self) -> float:
        """Seconds from the start to the first result."""
        return self.seen[0][0] if self.seen else float("nan")

    def _at(self, count: int) -> tuple[float, int]:
        return next(s for s in self.seen if s[1] >= count)

    def _rate(self, begin: int) -> float:
        """From the look at which there were ``begin`` results, whose own time nobody knows, to the last one."""
        if self.missing:
            return float("nan")
        (t0, c0), (t1, _) = self._at(begin), self._at(self.due)
        # All of it between two looks, as when one transaction holds everything, is no rate.
        return (self.due - c0) / (t1 - t0) if t1 > t0 else float("nan")


def fill(engine: Engine, job: Job, suffix: str, records: int) -> float:
    """Declares the job's sources and writes a backlog; returns the seconds that it took.

    The records are a millisecond apart and end about now: so windows of some seconds come and go.
    """
    engine.execute(job.setup.format(n=suffix, p=1))
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
        seen = _watch(engine.bootstrap, who, run, sink, due, begin)
        return Backlog(job.name, who, begin, due, seen, run.cpu(), os.getloadavg()[0])


def _watch(bootstrap: str, who: Contender, run: Run, topic: str, due: int, begin: float) -> list[tuple[float, int]]:
    """Follows the end of the sink until all results are there or no more come; gives :attr:`Backlog.seen`."""
    sink = _Sink(bootstrap, topic)
    ends: list[tuple[float, int]] = []
    looked = moved = checked = time.monotonic()
    try:
        while time.monotonic() - moved < PATIENCE:
            looked = time.monotonic()
            end = sink.end()
            if end > (ends[-1][1] if ends else 0):
                ends.append((looked - begin, end))
                moved = looked
            # In transactions the offsets end later than the results; to count them is work, so not while they come.
            if end >= due and (not who.transactional or (looked - moved > 0.5 and sink.results(end) >= due)):
                break
            if looked - checked > 1:
                run.check()
                checked = looked
            time.sleep(max(0.0, looked + LOOK - time.monotonic()))
        if who.transactional and ends:
            sink.results(ends[-1][1])
        counts = [(at, sink.results_before(end)) for at, end in ends]
        return [now for now, before in zip(counts, [(0.0, 0), *counts], strict=False) if now[1] > before[1]]
    finally:
        sink.close()


class _Sink:
    """The one partition of a sink topic, as those see it who read what is committed."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = topic
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "bench",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "log_level": 0,
            }
        )
        self._gaps: list[int] = []  # offsets without a result: markers, and what was taken back
        self._position = 0

    def end(self) -> int:
        """The offset behind the last record that is committed."""
        return int(self._consumer.get_watermark_offsets(TopicPartition(self._topic, 0), timeout=15, cached=False)[1])

    def results(self, end: int) -> int:
        """How many results lie before an offset, found by reading them."""
        self._consumer.assign([TopicPartition(self._topic, 0, self._position)])
        while self._position < end:
            at_end = False
            for message in self._consumer.consume(10_000, timeout=1):
                error = message.error()
                if error is None:
                    offset = int(message.offset() or 0)
                    self._gaps.extend(range(self._position, offset))
                    self._position = offset + 1
                elif error.code() == KafkaError._PARTITION_EOF:
                    at_end = True
                else:
                    raise RuntimeError(f"{self._topic} cannot be read: {error}")
            if at_end and self._position < end:  # nothing but markers is left
                self._gaps.extend(range(self._position, end))
                self._position = end
        self._consumer.unassign()
        return self.results_before(end)

    def results_before(self, end: int) -> int:
        """How many results lie before an offset, by what has been read."""
        return end - bisect_left(self._gaps, end)

    def close(self) -> None:
        """Frees its connections."""
        self._consumer.close()


# ------------------------------------------------------------ tables

_MEASURES: tuple[tuple[str, Callable[[Backlog], float]], ...] = (
    ("flow", lambda b: b.flow),
    ("2nd half", lambda b: b.second_half),
    ("whole", lambda b: b.whole),
)

LEGEND = """results a second, medians of the rounds
  flow: from the first result to the last; 2nd half: from half of them to the last; whole: from the start to the last,
  where ksqlpy starts by a statement in a server that runs, the others by the launch of their JVM"""


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
