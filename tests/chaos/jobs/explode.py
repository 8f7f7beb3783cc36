"""A table function: up to three goods of a cart, each a result of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.chaos.jobs.job import Feed, Job, Truth, read
from tests.chaos.passed import Passed, check_passed
from tests.chaos.records import Result, Sent
from tests.chaos.verdict import Verdict

__all__ = ["EXPLODE", "MOST", "each", "goods"]

TOPIC = "chaos_carts"
MOST = 3


def goods(number: int) -> list[int]:
    """The goods in the cart of that number: none, one, two or three numbers that no other cart has."""
    return [number * MOST + i for i in range(number % (MOST + 1))]


def _read(result: Result) -> Passed:
    return Passed(int(result.columns()["GOOD"]), result.key_text(), result.place)


def each(topic: str) -> Truth:
    """Of results that are the goods of each record of the topic."""

    def truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
        due = {good: r for r in sent[topic] for good in goods(r.number)}
        verdict.due = len(due)
        check_passed(verdict, due, read(verdict, results, _read))

    return truth


EXPLODE = Job(
    "explode",
    "a table function, up to three results of a record",
    f"CREATE STREAM chaos_carts (buyer STRING KEY, number BIGINT, goods ARRAY<BIGINT>)"
    f" WITH (KAFKA_TOPIC='{TOPIC}', VALUE_FORMAT='JSON', PARTITIONS={{p}});",
    "CREATE STREAM chaos_goods WITH (KAFKA_TOPIC='chaos_goods') AS"
    " SELECT buyer, number, EXPLODE(goods) AS good FROM chaos_carts;",
    "chaos_goods",
    (Feed(TOPIC, lambda random, number: f"buyer{random.randrange(40):02}", lambda n: {"GOODS": goods(n)}),),
    each(TOPIC),
)
