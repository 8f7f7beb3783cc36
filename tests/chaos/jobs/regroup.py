"""A join followed by GROUP BY of a column of the table, in one query: rides by the zone of their vehicle.

Once with vehicles that stay in their zone, so that each group's records are known, and once with vehicles that move.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from tests.chaos.jobs.job import Feed, Job, read
from tests.chaos.records import Result, Sent
from tests.chaos.steps import check_moving, check_steps, step_of
from tests.chaos.verdict import Verdict

__all__ = ["REGROUP", "REGROUP_MOVING"]

VEHICLES, ZONES = 30, 7

Truth = Callable[[Verdict, Mapping[str, Sequence[Sent]], Sequence[Result]], None]


def _home(vehicle: int) -> str:
    return f"zone{vehicle % ZONES}"


def _staying(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
    rides = sent["chaos_rides"]
    groups = defaultdict(list)
    for ride in rides:
        groups[_home(int(ride.key.removeprefix("vehicle")))].append(ride)
    verdict.due = len(rides)
    check_steps(verdict, groups, read(verdict, results, step_of))


def _moving(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
    rides = sent["chaos_rides_moving"]
    verdict.due = len(rides)
    check_moving(verdict, rides, read(verdict, results, step_of))


def _job(name: str, about: str, suffix: str, zone: Callable[[int], str], truth: Truth) -> Job:
    rides, vehicles, zones = (f"chaos_{n}{suffix}" for n in ("rides", "vehicles", "zones"))
    return Job(
        name,
        about,
        f"CREATE STREAM {rides} (vehicle STRING KEY, number BIGINT)"
        f" WITH (KAFKA_TOPIC='{rides}', VALUE_FORMAT='JSON', PARTITIONS={{p}});"
        f"CREATE TABLE {vehicles} (vehicle STRING PRIMARY KEY, zone STRING)"
        f" WITH (KAFKA_TOPIC='{vehicles}', VALUE_FORMAT='JSON', PARTITIONS={{p}});",
        f"CREATE TABLE {zones} WITH (KAFKA_TOPIC='{zones}') AS"
        f" SELECT v.zone AS zone, COUNT(*) AS n, SUM(r.number) AS total"
        f" FROM {rides} r JOIN {vehicles} v ON r.vehicle = v.vehicle GROUP BY v.zone;",
        zones,
        (
            Feed(rides, lambda random, number: f"vehicle{random.randrange(VEHICLES):02}", lambda n: {}),
            Feed(
                vehicles,
                lambda random, number: f"vehicle{(number - 1) % VEHICLES:02}",
                lambda n: {"ZONE": zone(n)},
                share=3,
                preload=VEHICLES,
                keyed=True,
            ),
        ),
        truth,
    )


REGROUP = _job(
    "regroup",
    "join, then GROUP BY of a table column that stays",
    "",
    lambda n: _home((n - 1) % VEHICLES),
    _staying,
)

# With every row that is written a vehicle is one zone further.
REGROUP_MOVING = _job(
    "regroup-moving",
    "join, then GROUP BY of a table column that changes",
    "_moving",
    lambda n: _home((n - 1) % VEHICLES + (n - 1) // VEHICLES),
    _moving,
)
