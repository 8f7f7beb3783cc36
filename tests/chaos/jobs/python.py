"""Functions in Python in SELECT, WHERE, GROUP BY, an aggregate, a table function, and with dead letters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from random import Random

from tests.chaos.jobs.explode import MOST, each
from tests.chaos.jobs.filter import LIMIT, doubled, large
from tests.chaos.jobs.group import counted
from tests.chaos.jobs.job import Feed, Job, amount, read
from tests.chaos.passed import Passed, check_passed
from tests.chaos.records import Result, Sent
from tests.chaos.verdict import Verdict

__all__ = ["PYTHON", "PYTHON_ITEMS", "PYTHON_LETTERS", "PYTHON_TOTALS", "place_of", "total_of"]


def _key(random: Random, number: int) -> str:
    return f"shop{random.randrange(40):02}"


def _amount(number: int) -> Mapping[str, object]:
    return {"AMOUNT": amount(number)}


# ---------------------------------------------------------------- SELECT and WHERE

SCANS = "chaos_scans"


PYTHON = Job(
    "python",
    "functions in Python in SELECT and WHERE",
    "CREATE STREAM chaos_scans (shop STRING KEY, number BIGINT, amount INT)"
    f" WITH (KAFKA_TOPIC='{SCANS}', VALUE_FORMAT='JSON', PARTITIONS={{p}});"
    f" CREATE FUNCTION chaos_large(amount INT) RETURNS BOOLEAN LANGUAGE PYTHON AS $$ return amount >= {LIMIT} $$;"
    " CREATE FUNCTION chaos_twice(amount INT) RETURNS INT LANGUAGE PYTHON AS $$ return 2 * amount $$;",
    "CREATE STREAM chaos_scanned WITH (KAFKA_TOPIC='chaos_scanned') AS"
    " SELECT shop, number, chaos_twice(amount) AS doubled FROM chaos_scans WHERE chaos_large(amount);",
    "chaos_scanned",
    (Feed(SCANS, _key, _amount),),
    doubled(SCANS),
    python=True,
)


# ---------------------------------------------------------------- GROUP BY and an aggregate

TILLS = "chaos_tills"


def total_of(shop: str) -> str:
    """The group of a shop: four have one."""
    return f"row{shop[5]}"


PYTHON_TOTALS = Job(
    "python-totals",
    "GROUP BY a function in Python, with an aggregate in Python",
    "CREATE STREAM chaos_tills (shop STRING KEY, number BIGINT, amount INT)"
    f" WITH (KAFKA_TOPIC='{TILLS}', VALUE_FORMAT='JSON', PARTITIONS={{p}});"
    " CREATE FUNCTION chaos_row(shop STRING) RETURNS STRING LANGUAGE PYTHON AS $$ return 'row' + shop[5] $$;"
    " CREATE AGGREGATE FUNCTION chaos_sum(number BIGINT) RETURNS BIGINT STATE BIGINT LANGUAGE PYTHON AS $$\n"
    "class chaos_sum:\n"
    "    def init(self):\n        return 0\n"
    "    def add(self, state, number):\n        return state + number\n"
    "    def result(self, state):\n        return state\n"
    "$$;",
    "CREATE TABLE chaos_totals WITH (KAFKA_TOPIC='chaos_totals') AS"
    " SELECT chaos_row(shop) AS shops, COUNT(*) AS n, chaos_sum(number) AS total, MAX(amount) AS most"
    " FROM chaos_tills GROUP BY chaos_row(shop);",
    "chaos_totals",
    (Feed(TILLS, _key, _amount),),
    counted(TILLS, total_of),
    python=True,
)


# ---------------------------------------------------------------- a table function

LISTS = "chaos_lists"


PYTHON_ITEMS = Job(
    "python-items",
    "a table function in Python, up to three results of a record",
    "CREATE STREAM chaos_lists (shop STRING KEY, number BIGINT)"
    f" WITH (KAFKA_TOPIC='{LISTS}', VALUE_FORMAT='JSON', PARTITIONS={{p}});"
    " CREATE TABLE FUNCTION chaos_each(number BIGINT) RETURNS BIGINT LANGUAGE PYTHON AS $$\n"
    f"    for i in range(number % {MOST + 1}):\n        yield number * {MOST} + i\n"
    "$$;",
    "CREATE STREAM chaos_items WITH (KAFKA_TOPIC='chaos_items') AS"
    " SELECT shop, number, chaos_each(number) AS good FROM chaos_lists;",
    "chaos_items",
    (Feed(LISTS, _key, lambda n: {}),),
    each(LISTS),
    python=True,
)


# ---------------------------------------------------------------- dead letters

CHECKS = "chaos_checks"


def place_of(sent: Sequence[Sent]) -> dict[tuple[int, int], int]:
    """The number of a record by its partition and offset."""
    found: dict[tuple[int, int], int] = {}
    ends = defaultdict[int, int](int)
    for r in sent:
        found[r.partition, ends[r.partition]] = r.number
        ends[r.partition] += 1
    return found


def _letters(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
    due = large(sent[CHECKS])
    verdict.due = len(due)
    numbers = place_of(sent[CHECKS])

    def letter(result: Result) -> Passed:
        columns = result.columns()
        return Passed(numbers[columns["SOURCE_PARTITION"], columns["SOURCE_OFFSET"]], result.key_text(), result.place)

    check_passed(verdict, due, read(verdict, results, letter))


PYTHON_LETTERS = Job(
    "python-letters",
    "dead letters of a function in Python that fails for most rows ahead of groups",
    "CREATE STREAM chaos_checks (shop STRING KEY, number BIGINT, amount INT)"
    f" WITH (KAFKA_TOPIC='{CHECKS}', VALUE_FORMAT='JSON', PARTITIONS={{p}});"
    " CREATE FUNCTION chaos_checked(amount INT) RETURNS INT LANGUAGE PYTHON WITH (ON_ERROR = 'dead-letter') AS $$\n"
    f"    if amount >= {LIMIT}:\n        raise ValueError('too large')\n    return amount\n"
    "$$;",
    "CREATE TABLE chaos_checked WITH (KAFKA_TOPIC='chaos_checked', QUERY_ID='chaos_checking') AS"
    " SELECT shop, SUM(chaos_checked(amount)) AS total FROM chaos_checks GROUP BY shop;"
    " CREATE STREAM chaos_refused WITH (KAFKA_TOPIC='chaos_refused', VALUE_FORMAT='JSON', PARTITIONS=1) AS"
    " SELECT FROM_BYTES(record_key, 'utf8') AS shop, source_partition, source_offset"
    " FROM ksqlpy_dead_letters WHERE query_id = 'CHAOS_CHECKING' PARTITION BY FROM_BYTES(record_key, 'utf8');",
    "chaos_refused",
    (Feed(CHECKS, _key, _amount),),
    _letters,
    queries=2,
    python=True,
)
