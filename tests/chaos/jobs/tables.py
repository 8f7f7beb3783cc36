"""Two tables joined by their key: wallets and their ceilings, each changing, every change with a result of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.chaos.jobs.job import Feed, Job, read
from tests.chaos.records import Result, Sent
from tests.chaos.verdict import Verdict

__all__ = ["TABLES"]

LEFT, RIGHT = "chaos_wallets", "chaos_ceilings"
KEYS = 40


@dataclass(frozen=True, slots=True)
class _Pair:
    """The numbers of the two rows that a key has, 0 for none."""

    key: str
    numbers: tuple[int, int]
    place: str


def _read(result: Result) -> _Pair:
    columns = result.columns()
    return _Pair(result.key_text(), (int(columns["LEFT_NUMBER"] or 0), int(columns["RIGHT_NUMBER"] or 0)), result.place)


def _truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
    """Each result of a key must take one of its two rows to a later record."""
    due = {(side, r.number): r.key for side, topic in enumerate((LEFT, RIGHT)) for r in sent[topic]}
    verdict.due = len(due)
    now: dict[str, tuple[int, int]] = {}
    known: set[tuple[str, tuple[int, int]]] = set()
    done: set[tuple[int, int]] = set()
    for pair in read(verdict, results, _read):
        before = now.get(pair.key, (0, 0))
        moved = [(side, n) for side, n in enumerate(pair.numbers) if n != before[side]]
        said = f"{pair.place}: key {pair.key} goes from {before} to {pair.numbers}"
        back = any(n < before[side] for side, n in moved)
        if (pair.key, pair.numbers) in known:
            verdict.note_twice(said)
            if back:
                verdict.note_back(said)
        elif not moved or any(n and due.get((side, n)) != pair.key for side, n in moved):
            verdict.note_wrong(said)
            continue
        elif back:
            verdict.note_back(said)
        known.add((pair.key, pair.numbers))
        now[pair.key] = pair.numbers
        if moved and not back:
            done.add(moved[0])  # of two that moved at once, one has no result
    for side, number in sorted(due.keys() - done):
        verdict.note_missing(f"key {due[side, number]}, record {number} of {(LEFT, RIGHT)[side]}")


TABLES = Job(
    "tables",
    "table-table join, both changing",
    f"CREATE TABLE chaos_wallets (wallet STRING PRIMARY KEY, number BIGINT)"
    f" WITH (KAFKA_TOPIC='{LEFT}', VALUE_FORMAT='JSON', PARTITIONS={{p}});"
    f"CREATE TABLE chaos_ceilings (wallet STRING PRIMARY KEY, number BIGINT)"
    f" WITH (KAFKA_TOPIC='{RIGHT}', VALUE_FORMAT='JSON', PARTITIONS={{p}});",
    "CREATE TABLE chaos_capped WITH (KAFKA_TOPIC='chaos_capped') AS"
    " SELECT ROWKEY AS wallet, w.number AS left_number, c.number AS right_number"
    " FROM chaos_wallets w FULL JOIN chaos_ceilings c ON w.wallet = c.wallet;",
    "chaos_capped",
    tuple(
        Feed(topic, lambda random, number: f"wallet{random.randrange(KEYS):02}", lambda n: {}, keyed=True)
        for topic in (LEFT, RIGHT)
    ),
    _truth,
)
