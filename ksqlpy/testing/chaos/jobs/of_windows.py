"""GROUP BY of a windowed table: the windows of a gauge and the readings in them, by another query's results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ksqlpy.testing.chaos.jobs.job import Feed, Job, read
from ksqlpy.testing.chaos.records import Result, Sent
from ksqlpy.testing.chaos.verdict import Verdict

__all__ = ["OF_WINDOWS"]

TOPIC, WINDOWS, SINK = "chaos_gauges", "chaos_gauge_windows", "chaos_gauge_totals"
SIZE = 10_000
"""Of the windows, in ms. Their grace is so large that no record is late."""


@dataclass(frozen=True, slots=True)
class _Total:
    gauge: str
    windows: int
    count: int
    total: int
    place: str


def _read(result: Result) -> _Total:
    c = result.columns()
    return _Total(result.key_text(), int(c["WINDOWS"]), int(c["N"] or 0), int(c["TOTAL"] or 0), result.place)


def _truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
    """The last result of a gauge counts all its windows and readings; none counts more.

    In between a window may be taken away before it comes back larger, as the groups of a table change.
    """
    readings: dict[str, list[Sent]] = defaultdict(list)
    for record in sent[TOPIC]:
        readings[record.key].append(record)
    due = {
        gauge: (len({r.time // SIZE for r in records}), len(records), sum(r.number for r in records))
        for gauge, records in readings.items()
    }
    verdict.due = len(due)
    last: dict[str, tuple[int, int, int]] = {}
    for found in read(verdict, results, _read):
        figures = found.windows, found.count, found.total
        most = due.get(found.gauge, (0, 0, 0))
        if any(n > m for n, m in zip(figures, most, strict=True)):
            verdict.note_twice(f"{found.place}: gauge {found.gauge} has {figures}, but no more than {most} came")
        last[found.gauge] = figures
    for gauge, figures in sorted(due.items()):
        if last.get(gauge) != figures:
            verdict.note_missing(f"gauge {gauge} has {last.get(gauge)} in the end, due are {figures}")


OF_WINDOWS = Job(
    "of-windows",
    "GROUP BY of a windowed table",
    f"CREATE STREAM {TOPIC} (gauge STRING KEY, number BIGINT)"
    f" WITH (KAFKA_TOPIC='{TOPIC}', VALUE_FORMAT='JSON', PARTITIONS={{p}});",
    f"CREATE TABLE {WINDOWS} WITH (KAFKA_TOPIC='{WINDOWS}') AS SELECT gauge, COUNT(*) AS n, SUM(number) AS total"
    f" FROM {TOPIC} WINDOW TUMBLING (SIZE {SIZE} MILLISECONDS, GRACE PERIOD 1 DAY) GROUP BY gauge;"
    f" CREATE TABLE {SINK} WITH (KAFKA_TOPIC='{SINK}') AS SELECT gauge, COUNT(*) AS windows, SUM(n) AS n,"
    f" SUM(total) AS total FROM {WINDOWS} GROUP BY gauge;",
    SINK,
    (Feed(TOPIC, lambda random, number: f"gauge{random.randrange(20):02}", lambda n: {}),),
    _truth,
    queries=2,
)
