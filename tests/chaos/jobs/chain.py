"""LAG: each payment of a card with the number of the one before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.chaos.jobs.job import Feed, Job, read
from tests.chaos.passed import Passed, check_passed
from tests.chaos.records import Result, Sent
from tests.chaos.verdict import Verdict

__all__ = ["CHAIN"]

TOPIC = "chaos_purchases"


def _read(result: Result) -> tuple[Passed, int]:
    columns = result.columns()
    return Passed(int(columns["NUMBER"]), result.key_text(), result.place), int(columns["BEFORE"])


def _truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
    """Each payment once, and behind that of its card which it names."""
    due = {r.number: r for r in sent[TOPIC]}
    verdict.due = len(due)
    found = list(read(verdict, results, _read))
    check_passed(verdict, due, [passed for passed, _ in found])
    last: dict[str, int] = {}
    seen: set[int] = set()
    for passed, before in found:
        if passed.number in seen:
            continue
        seen.add(passed.number)
        if before != last.get(passed.key, 0):
            wanted = last.get(passed.key, 0)
            verdict.note_wrong(f"{passed.place}: key {passed.key}, record {passed.number} names {before}, not {wanted}")
        last[passed.key] = passed.number


CHAIN = Job(
    "chain",
    "LAG over the payments of a card",
    f"CREATE STREAM chaos_purchases (card STRING KEY, number BIGINT)"
    f" WITH (KAFKA_TOPIC='{TOPIC}', VALUE_FORMAT='JSON', PARTITIONS={{p}});",
    "CREATE STREAM chaos_chain WITH (KAFKA_TOPIC='chaos_chain') AS"
    " SELECT card, number, LAG(number, 1, 0) OVER (PARTITION BY card) AS before FROM chaos_purchases;",
    "chaos_chain",
    (Feed(TOPIC, lambda random, number: f"card{random.randrange(40):02}", lambda n: {}),),
    _truth,
)
