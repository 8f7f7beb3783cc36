"""GROUP BY of a windowed table: the readings of a gauge in all its windows, by another query's results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tests.chaos.jobs.job import Feed, Job, read
from tests.chaos.records import Result, Sent
from tests.chaos.steps import check_steps, step_of
from tests.chaos.verdict import Verdict

__all__ = ["OF_WINDOWS"]

TOPIC, WINDOWS, SINK = "chaos_gauges", "chaos_gauge_windows", "chaos_gauge_totals"
SECONDS = 10
"""Of the windows. Their grace is so large that no record is late."""


def _truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
    groups = defaultdict(list)
    for record in sent[TOPIC]:
        # Each window is a key of its own, and may lie in another partition than the one before it: the order of the
        # windows of a gauge is not kept, that of the readings in one is.
        window = record.time // (SECONDS * 1000)
        groups[record.key].append(replace(record, partition=window << 16 | record.partition))
    verdict.due = len(sent[TOPIC])
    check_steps(verdict, groups, read(verdict, results, step_of))


OF_WINDOWS = Job(
    "of-windows",
    "GROUP BY of a windowed table",
    f"CREATE STREAM {TOPIC} (gauge STRING KEY, number BIGINT)"
    f" WITH (KAFKA_TOPIC='{TOPIC}', VALUE_FORMAT='JSON', PARTITIONS={{p}});",
    f"CREATE TABLE {WINDOWS} WITH (KAFKA_TOPIC='{WINDOWS}') AS SELECT gauge, COUNT(*) AS n, SUM(number) AS total"
    f" FROM {TOPIC} WINDOW TUMBLING (SIZE {SECONDS} SECONDS, GRACE PERIOD 1 DAY) GROUP BY gauge;"
    f" CREATE TABLE {SINK} WITH (KAFKA_TOPIC='{SINK}') AS SELECT gauge, SUM(n) AS n, SUM(total) AS total"
    f" FROM {WINDOWS} GROUP BY gauge;",
    SINK,
    (Feed(TOPIC, lambda random, number: f"gauge{random.randrange(20):02}", lambda n: {}),),
    _truth,
    queries=2,
)
