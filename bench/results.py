"""Results as they come: how many a query has written to its sink at which time, and the rates that follow.

Results are counted by the end offsets of the sink's partitions, which costs next to nothing. A consumer that reads all
of them uses a processor itself, and where it is slower than the query its own rate would be measured. In a topic that
is written in transactions markers take offsets too; where they are is read once all is over, so that the count is
exact.

Results in transactions count twice: readers see them when a transaction ends, which a long one makes a few steps of
many results. How many a second a query makes is told by when they are written.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError, TopicPartition

__all__ = ["Results", "watch"]

LOOK = 0.02
"""Seconds between looks at the ends of the sink."""
PATIENCE = 150.0
"""Seconds without a result after which no more are expected; more than two checkpoints."""


@dataclass(frozen=True)
class Results:
    """The results of one run over a backlog, in seconds since its start and numbers of results.

    ``due``: how many results there must be; ``seen``: how many were there at that time for readers, whenever there
    were more. ``written``: the same of those that are written, where readers see them later.
    """

    due: int
    seen: Sequence[tuple[float, int]]
    written: Sequence[tuple[float, int]] = field(default=(), kw_only=True)

    @property
    def missing(self) -> int:
        """Results that were not there when the run was given up."""
        return max(0, self.due - (self.seen[-1][1] if self.seen else 0))

    @property
    def flow(self) -> float:
        """Results a second from the first that was written to the last."""
        return self._rate(1)

    @property
    def second_half(self) -> float:
        """Results a second in the second half: by then compilers and caches are warm.

        It is too high where producers hold many results and send them late, as when processors are short.
        """
        return self._rate(self.due // 2)

    @property
    def whole(self) -> float:
        """Results a second from the start of the job until readers see the last result."""
        return float("nan") if self.missing else self.due / _at(self.seen, self.due)[0]

    @property
    def first(self) -> float:
        """Seconds from the start until readers see the first result."""
        return self.seen[0][0] if self.seen else float("nan")

    def _rate(self, begin: int) -> float:
        """From the look at which there were ``begin`` results, whose own time nobody knows, to the last one."""
        if self.missing:
            return float("nan")
        made = self.written or self.seen
        (t0, c0), (t1, _) = _at(made, begin), _at(made, self.due)
        # All of it between two looks, as when one transaction holds everything, is no rate.
        return (self.due - c0) / (t1 - t0) if t1 > t0 else float("nan")


def _at(counts: Sequence[tuple[float, int]], count: int) -> tuple[float, int]:
    """The first of them with so many results."""
    return next(c for c in counts if c[1] >= count)


def watch(
    bootstrap: str,
    topic: str,
    due: int,
    begin: float,
    *,
    partitions: int = 1,
    transactional: bool = False,
    check: Callable[[], object] = lambda: None,
) -> Results:
    """Follows the ends of a sink until all results are there or no more come.

    ``begin``: the start of the run, by the clock of ``time.monotonic``. ``check`` is called each second, and raises
    where the run has failed.
    """
    sink = [_Partition(bootstrap, topic, number) for number in range(partitions)]
    ends: list[tuple[float, list[int]]] = []
    written: list[tuple[float, list[int]]] = []
    last = made = 0
    looked = moved = checked = time.monotonic()
    try:
        while time.monotonic() - moved < PATIENCE:
            looked = time.monotonic()
            if transactional:
                open_ = [p.written() for p in sink]
                if sum(open_) > made:
                    written.append((looked - begin, open_))
                    made = sum(open_)
            now = [p.end() for p in sink]
            if sum(now) > last:
                ends.append((looked - begin, now))
                last = sum(now)
                moved = looked
            # In transactions the offsets end later than the results; to count them is work, so not while they come.
            if last >= due and (not transactional or (looked - moved > 0.5 and _read(sink, now) >= due)):
                break
            if looked - checked > 1:
                check()
                checked = looked
            time.sleep(max(0.0, looked + LOOK - time.monotonic()))
        if transactional and ends:
            _read(sink, ends[-1][1])
        # What was not committed in the end is no result, nor is it read.
        last_ends = ends[-1][1] if ends else [0] * partitions
        known = [(at, [min(pair) for pair in zip(each, last_ends, strict=True)]) for at, each in written]
        return Results(due, _counted(sink, ends), written=_counted(sink, known))
    finally:
        for p in sink:
            p.close()


def _counted(sink: Sequence[_Partition], ends: Sequence[tuple[float, Sequence[int]]]) -> list[tuple[float, int]]:
    """How many results lie before the ends, whenever there are more."""
    counts = [(at, sum(p.results_before(end) for p, end in zip(sink, each, strict=True))) for at, each in ends]
    return [n for n, before in zip(counts, [(0.0, 0), *counts], strict=False) if n[1] > before[1]]


def _read(sink: Sequence[_Partition], ends: Sequence[int]) -> int:
    """How many results lie before these offsets, found by reading them."""
    return sum(p.results(end) for p, end in zip(sink, ends, strict=True))


class _Partition:
    """One partition of a sink topic, as those see it who read what is committed."""

    def __init__(self, bootstrap: str, topic: str, number: int) -> None:
        self._topic, self._number = topic, number
        settings: dict[str, str | int | bool] = {
            "bootstrap.servers": bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
        self._consumer = Consumer({**settings, "isolation.level": "read_committed"})
        self._open = Consumer({**settings, "isolation.level": "read_uncommitted"})
        self._gaps: list[int] = []  # offsets without a result: markers, and what was taken back
        self._position = 0

    def end(self) -> int:
        """The offset behind the last record that is committed."""
        return self._end(self._consumer)

    def written(self) -> int:
        """The offset behind the last record, committed or not."""
        return self._end(self._open)

    def _end(self, consumer: Consumer) -> int:
        here = TopicPartition(self._topic, self._number)
        return int(consumer.get_watermark_offsets(here, timeout=15, cached=False)[1])

    def results(self, end: int) -> int:
        """How many results lie before an offset, found by reading them."""
        self._consumer.assign([TopicPartition(self._topic, self._number, self._position)])
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
        self._open.close()
