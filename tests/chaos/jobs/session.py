"""GROUP BY in sessions: clicks by visitor, with a list that says which of them are in each session."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from random import Random

from tests.chaos.jobs.job import Feed, Job, read
from tests.chaos.records import Result, Sent
from tests.chaos.sessions import Version, check_sessions
from tests.chaos.verdict import Verdict

__all__ = ["GAP", "SESSION"]

TOPIC = "chaos_clicks"
GAP = 1000
"""In ms."""
VISITORS, AT_ONCE, CLICKS = 50, 4, 40
_BOUNDS = 16
"""Bytes of the session's end and start, which stand behind the group's key."""


def _key(random: Random, number: int) -> str:
    """A few visitors at once, who pause when others follow them."""
    return f"visitor{(number // CLICKS + random.randrange(AT_ONCE)) % VISITORS:02}"


def _read(result: Result) -> Version:
    key = result.key or b""
    if len(key) <= _BOUNDS:
        raise ValueError("the key has no session")
    end, start = struct.unpack(">qq", key[-_BOUNDS:])
    group = key[:-_BOUNDS].decode()
    if result.value is None:
        return Version(group, start, end, None, 0, result.partition, result.place)
    columns = result.columns()
    numbers = [int(n) for n in columns["NUMBERS"]]
    if (columns["N"], columns["TOTAL"]) != (len(numbers), sum(numbers)) or len(set(numbers)) != len(numbers):
        raise ValueError("N, TOTAL and NUMBERS must agree")
    return Version(group, start, end, frozenset(numbers), int(columns["NEWEST"]), result.partition, result.place)


def _truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
    check_sessions(verdict, sent[TOPIC], GAP, read(verdict, results, _read))


# The grace is so large that no record is late, however long a kill holds it up.
SESSION = Job(
    "session",
    "GROUP BY in sessions",
    f"CREATE STREAM chaos_clicks (visitor STRING KEY, number BIGINT)"
    f" WITH (KAFKA_TOPIC='{TOPIC}', VALUE_FORMAT='JSON', PARTITIONS={{p}});",
    f"CREATE TABLE chaos_sessions WITH (KAFKA_TOPIC='chaos_sessions') AS"
    f" SELECT visitor, COUNT(*) AS n, SUM(number) AS total, COLLECT_LIST(number) AS numbers,"
    f" LATEST_BY_OFFSET(number) AS newest FROM chaos_clicks"
    f" WINDOW SESSION ({GAP} MILLISECONDS, GRACE PERIOD 1 DAY) GROUP BY visitor;",
    "chaos_sessions",
    (Feed(TOPIC, _key, lambda n: {}),),
    _truth,
)
