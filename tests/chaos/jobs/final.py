"""EMIT FINAL: deliveries by van in tumbling windows, each window once when it is over."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.chaos.jobs.job import Feed, Job, read
from tests.chaos.records import Result, Sent
from tests.chaos.verdict import Verdict

__all__ = ["FINAL"]

TOPIC = "chaos_deliveries"
SIZE = 2000
GRACE = 1000
"""Both in ms."""
_START = 8
"""Bytes of the window's start, which stand behind the group's key."""


@dataclass(frozen=True, slots=True)
class _Window:
    key: str
    start: int
    count: int
    total: int
    partition: int
    place: str


def _read(result: Result) -> _Window:
    key = result.key or b""
    if len(key) <= _START:
        raise ValueError("the key has no window")
    (start,) = struct.unpack(">q", key[-_START:])
    columns = result.columns()
    n, total = int(columns["N"]), int(columns["TOTAL"])
    return _Window(key[:-_START].decode(), start, n, total, result.partition, result.place)


def _truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
    """Each window once, with all of its records, in the order of their starts.

    It must come if a record of its own group closes it; of records of other groups only the query knows whether they
    are worked on by the same task.
    """
    windows: dict[tuple[str, int], list[int]] = defaultdict(list)
    latest: dict[str, int] = {}
    for r in sent[TOPIC]:
        windows[r.key, r.time // SIZE * SIZE].append(r.number)
        latest[r.key] = max(r.time, latest.get(r.key, 0))
    due = {(key, start) for key, start in windows if latest[key] >= start + SIZE + GRACE}
    verdict.due = len(due)
    newest = max(latest.values(), default=0)
    seen: set[tuple[str, int]] = set()
    last: dict[tuple[str, int], int] = {}
    for found in read(verdict, results, _read):
        window = (found.key, found.start)
        said = f"{found.place}: key {found.key} from {found.start}, {found.count} records with sum {found.total}"
        numbers = windows.get(window, [])
        if (found.count, found.total) != (len(numbers), sum(numbers)):
            verdict.note_wrong(f"{said} instead of {len(numbers)} with sum {sum(numbers)}")
            continue
        if newest < found.start + SIZE + GRACE:
            verdict.note_wrong(f"{said} is not over")
        if window in seen:
            verdict.note_twice(said)
        seen.add(window)
        lane = (found.key, found.partition)
        if found.start < last.get(lane, 0):
            verdict.note_back(f"{said} after {last[lane]}")
        last[lane] = found.start
    for key, start in sorted(due - seen):
        verdict.note_missing(f"key {key} from {start}")


# A key stays in its partition, whose times rise, so that no record is late.
FINAL = Job(
    "final",
    "GROUP BY in tumbling windows, EMIT FINAL",
    f"CREATE STREAM chaos_deliveries (van STRING KEY, number BIGINT)"
    f" WITH (KAFKA_TOPIC='{TOPIC}', VALUE_FORMAT='JSON', PARTITIONS={{p}});",
    f"CREATE TABLE chaos_vans WITH (KAFKA_TOPIC='chaos_vans') AS"
    f" SELECT van, COUNT(*) AS n, SUM(number) AS total FROM chaos_deliveries"
    f" WINDOW TUMBLING (SIZE {SIZE // 1000} SECONDS, GRACE PERIOD {GRACE // 1000} SECONDS) GROUP BY van EMIT FINAL;",
    "chaos_vans",
    (Feed(TOPIC, lambda random, number: f"van{random.randrange(30):02}", lambda n: {}, keyed=True),),
    _truth,
)
