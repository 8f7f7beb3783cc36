"""GROUP BY of a windowed table: the readings of a gauge in all its windows, by another query's results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ksqlpy.testing.chaos.jobs.job import Feed, Job, read
from ksqlpy.testing.chaos.records import Result, Sent
from ksqlpy.testing.chaos.steps import Step, check_steps
from ksqlpy.testing.chaos.verdict import Verdict

__all__ = ["OF_WINDOWS"]

TOPIC, WINDOWS, SINK = "chaos_gauges", "chaos_gauge_windows", "chaos_gauge_totals"
SECONDS = 10
"""Of the windows. Their grace is so large that no record is late."""


def _read(result: Result) -> Step:
    columns = result.columns()
    return Step(result.key_text(), int(columns["N"]), int(columns["TOTAL"]), result.place)


def _truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
    groups = defaultdict(list)
    for record in sent[TOPIC]:
        groups[record.key].append(record)
    verdict.due = len(sent[TOPIC])
    check_steps(verdict, groups, read(verdict, results, _read))


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
