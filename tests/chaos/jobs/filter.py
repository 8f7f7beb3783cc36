"""Filter and projection: about a third of the orders is dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.chaos.jobs.job import Feed, Job, Truth, amount, read
from tests.chaos.passed import Passed, check_passed
from tests.chaos.records import Result, Sent
from tests.chaos.verdict import Verdict

__all__ = ["FILTER", "LIMIT", "doubled", "large"]

TOPIC = "chaos_orders"
LIMIT = 34


def _read(result: Result) -> Passed:
    columns = result.columns()
    number = int(columns["NUMBER"])
    if columns["DOUBLED"] != 2 * amount(number):
        raise ValueError(f"DOUBLED must be {2 * amount(number)}")
    return Passed(number, result.key_text(), result.place)


def large(sent: Sequence[Sent]) -> dict[int, Sent]:
    """Those of the records, by number, whose amount is LIMIT or more."""
    return {r.number: r for r in sent if amount(r.number) >= LIMIT}


def doubled(topic: str) -> Truth:
    """Of results that say twice the amount of each large record of the topic."""

    def truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
        due = large(sent[topic])
        verdict.due = len(due)
        check_passed(verdict, due, read(verdict, results, _read))

    return truth


FILTER = Job(
    "filter",
    "WHERE and projection",
    f"CREATE STREAM chaos_orders (shop STRING KEY, number BIGINT, amount INT)"
    f" WITH (KAFKA_TOPIC='{TOPIC}', VALUE_FORMAT='JSON', PARTITIONS={{p}});",
    f"CREATE STREAM chaos_large_orders WITH (KAFKA_TOPIC='chaos_large_orders') AS"
    f" SELECT shop, number, amount * 2 AS doubled FROM chaos_orders WHERE amount >= {LIMIT};",
    "chaos_large_orders",
    (Feed(TOPIC, lambda random, number: f"shop{random.randrange(40):02}", lambda n: {"AMOUNT": amount(n)}),),
    doubled(TOPIC),
)
