"""ROW_NUMBER: the three best runs of each team."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence

from tests.chaos.jobs.job import Feed, Job, amount, read
from tests.chaos.records import Result, Sent
from tests.chaos.verdict import Verdict

__all__ = ["BEST", "points"]

TOPIC = "chaos_runs"
RANKS = 3


def points(number: int) -> int:
    """The points of the run in the record of that number: more and more, so that the best change all the time."""
    return number // 5 + amount(number)


def _read(result: Result) -> tuple[str, int, int, str]:
    key = json.loads(result.key_text())
    number = int(result.columns()["NUMBER"])
    if result.columns()["POINTS"] != points(number):
        raise ValueError(f"POINTS must be {points(number)}")
    return str(key["TEAM"]), int(key["PLACE"]), number, result.place


def _truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
    """What has a rank only becomes better; in the end the best of all records have them."""
    teams: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for r in sent[TOPIC]:
        teams[r.key].append((points(r.number), -r.number))
    best = {
        (team, rank): run
        for team, runs in teams.items()
        for rank, run in enumerate(sorted(runs, reverse=True)[:RANKS], 1)
    }
    verdict.due = len(best)
    own = {team: set(runs) for team, runs in teams.items()}
    now: dict[tuple[str, int], tuple[int, int]] = {}
    for team, rank, number, place in read(verdict, results, _read):
        run, before = (points(number), -number), now.get((team, rank))
        said = f"{place}: rank {rank} of {team} is record {number} after {None if before is None else -before[1]}"
        if run not in own.get(team, ()) or not 1 <= rank <= RANKS:
            verdict.note_wrong(said)
            continue
        if run == before:
            verdict.note_twice(said)
        elif before is not None and run < before:
            verdict.note_back(said)
        now[team, rank] = run
    for (team, rank), run in sorted(best.items()):
        if now.get((team, rank)) != run:
            verdict.note_missing(f"rank {rank} of {team} is not record {-run[1]}")


BEST = Job(
    "best",
    "the three best of each team, ROW_NUMBER",
    f"CREATE STREAM chaos_runs (team STRING KEY, number BIGINT, points BIGINT)"
    f" WITH (KAFKA_TOPIC='{TOPIC}', VALUE_FORMAT='JSON', PARTITIONS={{p}});",
    "CREATE TABLE chaos_best WITH (KAFKA_TOPIC='chaos_best', KEY_FORMAT='JSON') AS"
    " SELECT team, place, number, points FROM (SELECT team, number, points,"
    " ROW_NUMBER() OVER (PARTITION BY team ORDER BY points DESC, number) AS place FROM chaos_runs)"
    f" WHERE place <= {RANKS};",
    "chaos_best",
    (Feed(TOPIC, lambda random, number: f"team{random.randrange(20):02}", lambda n: {"POINTS": points(n)}),),
    _truth,
)
