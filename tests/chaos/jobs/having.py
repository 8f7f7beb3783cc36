"""GROUP BY with HAVING: customers from their third visit on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from random import Random

from tests.chaos.jobs.job import Feed, Job, read
from tests.chaos.records import Result, Sent
from tests.chaos.steps import check_steps, step_of
from tests.chaos.verdict import Verdict

__all__ = ["HAVING"]

TOPIC = "chaos_visits"
FIRST = 3
REGULARS, NEW = 20, 50


def _key(random: Random, number: int) -> str:
    """Half of the visits are of regulars; the others of ever new customers, some of whom never come a third time."""
    if random.random() < 0.5:
        return f"regular{random.randrange(REGULARS):02}"
    return f"customer{number // 200}-{random.randrange(NEW)}"


def _truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
    groups = defaultdict(list)
    for record in sent[TOPIC]:
        groups[record.key].append(record)
    verdict.due = sum(max(0, len(records) - FIRST + 1) for records in groups.values())
    check_steps(verdict, groups, read(verdict, results, step_of), first=FIRST)


HAVING = Job(
    "having",
    f"GROUP BY with HAVING COUNT(*) >= {FIRST}",
    f"CREATE STREAM chaos_visits (customer STRING KEY, number BIGINT)"
    f" WITH (KAFKA_TOPIC='{TOPIC}', VALUE_FORMAT='JSON', PARTITIONS={{p}});",
    f"CREATE TABLE chaos_regulars WITH (KAFKA_TOPIC='chaos_regulars') AS"
    f" SELECT customer, COUNT(*) AS n, SUM(number) AS total FROM chaos_visits"
    f" GROUP BY customer HAVING COUNT(*) >= {FIRST};",
    "chaos_regulars",
    (Feed(TOPIC, _key, lambda n: {}),),
    _truth,
)
