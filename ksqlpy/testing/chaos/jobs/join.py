"""A stream joined with a table that changes meanwhile: trades see the quote that is current."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ksqlpy.testing.chaos.jobs.job import Feed, Job, read
from ksqlpy.testing.chaos.passed import Passed, check_passed
from ksqlpy.testing.chaos.records import Result, Sent
from ksqlpy.testing.chaos.verdict import Verdict

__all__ = ["JOIN"]

STREAM, TABLE = "chaos_trades", "chaos_quotes"
KEYS = 30


def _read(result: Result) -> Passed:
    columns = result.columns()
    return Passed(int(columns["NUMBER"]), result.key_text(), result.place, int(columns["VERSION"]))


def _truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
    due = {r.number: r for r in sent[STREAM]}
    versions = {r.key: _version(r.number) for r in sent[TABLE]}
    verdict.due = len(due)
    check_passed(verdict, due, read(verdict, results, _read), versions)


def _version(number: int) -> int:
    """The rows of the table are written key by key, round after round."""
    return (number - 1) // KEYS + 1


JOIN = Job(
    "join",
    "stream-table join, the table changing",
    f"CREATE STREAM chaos_trades (symbol STRING KEY, number BIGINT)"
    f" WITH (KAFKA_TOPIC='{STREAM}', VALUE_FORMAT='JSON', PARTITIONS={{p}});"
    f"CREATE TABLE chaos_quotes (symbol STRING PRIMARY KEY, version BIGINT)"
    f" WITH (KAFKA_TOPIC='{TABLE}', VALUE_FORMAT='JSON', PARTITIONS={{p}});",
    "CREATE STREAM chaos_priced WITH (KAFKA_TOPIC='chaos_priced') AS"
    " SELECT t.symbol AS symbol, t.number AS number, q.version AS version"
    " FROM chaos_trades t JOIN chaos_quotes q ON t.symbol = q.symbol;",
    "chaos_priced",
    (
        Feed(STREAM, lambda random, number: f"symbol{random.randrange(KEYS):02}", lambda n: {}),
        Feed(
            TABLE,
            lambda random, number: f"symbol{(number - 1) % KEYS:02}",
            lambda n: {"VERSION": _version(n)},
            share=3,
            preload=KEYS,
            keyed=True,
        ),
    ),
    _truth,
)
