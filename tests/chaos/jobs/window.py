"""GROUP BY in tumbling windows by the records' times: readings by sensor."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Mapping, Sequence

from tests.chaos.jobs.job import Feed, Job, amount, read
from tests.chaos.records import Result, Sent
from tests.chaos.steps import Step, check_steps
from tests.chaos.verdict import Verdict

__all__ = ["WINDOW"]

TOPIC = "chaos_readings"
SECONDS = 10
_START = 8
"""Bytes of the window's start, which stand behind the group's key."""


def _group(key: str, start: int) -> str:
    return f"{key} from {start}"


def _read(result: Result) -> Step:
    key = result.key or b""
    if len(key) <= _START:
        raise ValueError("the key has no window")
    (start,) = struct.unpack(">q", key[-_START:])
    group = _group(key[:-_START].decode(), start)
    columns = result.columns()
    return Step(group, int(columns["N"]), int(columns["TOTAL"]), result.place, int(columns["MOST"]))


def _truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
    size = SECONDS * 1000
    groups = defaultdict(list)
    for record in sent[TOPIC]:
        groups[_group(record.key, record.time // size * size)].append(record)
    verdict.due = len(sent[TOPIC])
    check_steps(verdict, groups, read(verdict, results, _read), amount=amount)


# The grace is so large that no record is late, however long a kill holds it up.
WINDOW = Job(
    "window",
    "GROUP BY in tumbling windows",
    f"CREATE STREAM chaos_readings (sensor STRING KEY, number BIGINT, amount INT)"
    f" WITH (KAFKA_TOPIC='{TOPIC}', VALUE_FORMAT='JSON', PARTITIONS={{p}});",
    f"CREATE TABLE chaos_sensors WITH (KAFKA_TOPIC='chaos_sensors') AS"
    f" SELECT sensor, COUNT(*) AS n, SUM(number) AS total, MAX(amount) AS most FROM chaos_readings"
    f" WINDOW TUMBLING (SIZE {SECONDS} SECONDS, GRACE PERIOD 1 DAY) GROUP BY sensor;",
    "chaos_sensors",
    (Feed(TOPIC, lambda random, number: f"sensor{random.randrange(20):02}", lambda n: {"AMOUNT": amount(n)}),),
    _truth,
)
