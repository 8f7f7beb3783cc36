"""A stream joined with two tables that change meanwhile: trades see the quote and the limit that are current."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.chaos.jobs.job import Feed, Job, read
from tests.chaos.passed import Passed, check_passed
from tests.chaos.records import Result, Sent
from tests.chaos.verdict import Verdict

__all__ = ["JOIN"]

STREAM = "chaos_trades"
TABLES = ("chaos_quotes", "chaos_limits")
KEYS = 30


def _read(result: Result) -> Passed:
    columns = result.columns()
    versions = int(columns["QUOTED"]), int(columns["LIMITED"])
    return Passed(int(columns["NUMBER"]), result.key_text(), result.place, versions)


def _truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
    due = {r.number: r for r in sent[STREAM]}
    written = [{r.key: _version(r.number) for r in sent[table]} for table in TABLES]
    verdict.due = len(due)
    check_passed(verdict, due, read(verdict, results, _read), written)


def _version(number: int) -> int:
    """The rows of a table are written key by key, round after round."""
    return (number - 1) // KEYS + 1


def _table(topic: str) -> Feed:
    return Feed(
        topic,
        lambda random, number: f"symbol{(number - 1) % KEYS:02}",
        lambda n: {"VERSION": _version(n)},
        share=2,
        preload=KEYS,
        keyed=True,
    )


JOIN = Job(
    "join",
    "a stream joined with two tables, both changing",
    f"CREATE STREAM chaos_trades (symbol STRING KEY, number BIGINT)"
    f" WITH (KAFKA_TOPIC='{STREAM}', VALUE_FORMAT='JSON', PARTITIONS={{p}});"
    + "".join(
        f"CREATE TABLE {table} (symbol STRING PRIMARY KEY, version BIGINT)"
        f" WITH (KAFKA_TOPIC='{table}', VALUE_FORMAT='JSON', PARTITIONS={{p}});"
        for table in TABLES
    ),
    "CREATE STREAM chaos_priced WITH (KAFKA_TOPIC='chaos_priced') AS"
    " SELECT t.symbol AS symbol, t.number AS number, q.version AS quoted, l.version AS limited FROM chaos_trades t"
    " JOIN chaos_quotes q ON t.symbol = q.symbol JOIN chaos_limits l ON t.symbol = l.symbol;",
    "chaos_priced",
    (Feed(STREAM, lambda random, number: f"symbol{random.randrange(KEYS):02}", lambda n: {}), *map(_table, TABLES)),
    _truth,
)
