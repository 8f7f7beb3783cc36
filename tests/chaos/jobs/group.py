"""GROUP BY with a count, a sum and a maximum: payments by account."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from tests.chaos.jobs.job import Feed, Job, Truth, amount, read
from tests.chaos.records import Result, Sent
from tests.chaos.steps import Step, check_steps
from tests.chaos.verdict import Verdict

__all__ = ["GROUP", "counted"]

TOPIC = "chaos_payments"


def _read(result: Result) -> Step:
    columns = result.columns()
    return Step(result.key_text(), int(columns["N"]), int(columns["TOTAL"]), result.place, int(columns["MOST"]))


def counted(topic: str, group: Callable[[str], str] = lambda key: key) -> Truth:
    """Of results that count the records of the topic; ``group``: of a key."""

    def truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
        groups = defaultdict(list)
        for record in sent[topic]:
            groups[group(record.key)].append(record)
        verdict.due = len(sent[topic])
        check_steps(verdict, groups, read(verdict, results, _read), amount=amount)

    return truth


GROUP = Job(
    "group",
    "GROUP BY with COUNT, SUM and MAX",
    f"CREATE STREAM chaos_payments (account STRING KEY, number BIGINT, amount INT)"
    f" WITH (KAFKA_TOPIC='{TOPIC}', VALUE_FORMAT='JSON', PARTITIONS={{p}});",
    "CREATE TABLE chaos_accounts WITH (KAFKA_TOPIC='chaos_accounts') AS"
    " SELECT account, COUNT(*) AS n, SUM(number) AS total, MAX(amount) AS most FROM chaos_payments GROUP BY account;",
    "chaos_accounts",
    (Feed(TOPIC, lambda random, number: f"account{random.randrange(30):02}", lambda n: {"AMOUNT": amount(n)}),),
    counted(TOPIC),
)
