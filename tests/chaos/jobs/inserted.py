"""A stream that two queries write: one made with it, and one of INSERT INTO, from a topic of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tests.chaos.jobs.job import Feed, Job, read
from tests.chaos.passed import Passed, check_passed
from tests.chaos.records import Result, Sent
from tests.chaos.verdict import Verdict

__all__ = ["INSERTED"]

TOPICS = ("chaos_web_visits", "chaos_app_visits")
SINK = "chaos_all_visits"


def _read(result: Result) -> Passed:
    return Passed(int(result.columns()["NUMBER"]), result.key_text(), result.place)


def _truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
    """The numbers of results are those of records, doubled, and one more for the second topic: each once."""
    due = {
        2 * r.number + i: replace(r, number=2 * r.number + i, partition=2 * r.partition + i)
        for i, topic in enumerate(TOPICS)
        for r in sent[topic]
    }
    verdict.due = len(due)
    check_passed(verdict, due, read(verdict, results, _read))


INSERTED = Job(
    "inserted",
    "a stream that a second query writes by INSERT INTO, from another topic",
    "".join(
        f"CREATE STREAM {topic} (visitor STRING KEY, number BIGINT)"
        f" WITH (KAFKA_TOPIC='{topic}', VALUE_FORMAT='JSON', PARTITIONS={{p}});"
        for topic in TOPICS
    ),
    f"CREATE STREAM {SINK} WITH (KAFKA_TOPIC='{SINK}') AS SELECT visitor, number * 2 AS number FROM {TOPICS[0]};"
    f" INSERT INTO {SINK} SELECT visitor, number * 2 + 1 AS number FROM {TOPICS[1]};",
    SINK,
    tuple(Feed(t, lambda random, number: f"visitor{random.randrange(40):02}", lambda n: {}) for t in TOPICS),
    _truth,
    queries=2,
)
