"""What the queries of ``taxi.sql`` must give, computed from the files by plain Python, and the comparison with it.

Nothing of the engine is used here. Every topic has one partition, so all its records have one right order.
"""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from ksqlpy.demo.data import Ride, Value, Zone, int_key

__all__ = ["RESULTS", "Check", "Record", "compare", "expect", "totals", "window_key"]

HOUR = 3_600_000
LIMIT = Decimal(40)
UNKNOWN = "Unknown"
SHOWN = 5
"""Differences that a failed check shows."""


@dataclass(frozen=True)
class Record:
    """A record of a result topic: its key's bytes, its columns, its timestamp in ms."""

    key: bytes
    value: Mapping[str, object] | None
    time: int


@dataclass(frozen=True)
class Check:
    """One comparison; ``details`` are the first differences."""

    name: str
    ok: bool
    details: tuple[str, ...] = ()


def window_key(key: bytes, start: int) -> bytes:
    """The key of a windowed table: after the group's key comes the start of the window."""
    return key + struct.pack(">q", start)


# ---------------------------------------------------------------- every record


def expect(rides: Sequence[Ride], zones: Sequence[Zone]) -> dict[str, list[Record]]:
    """All records of every result topic, in their order."""
    known = {z.id: z for z in zones}  # of an id that occurs twice, the last
    enriched = [_enriched(r, known.get(r.pickup_zone)) for r in rides]
    return {
        "taxi_large_rides": [Record(int_key(r.vendor), r.value, r.time) for r in rides if r.total >= LIMIT],
        "taxi_small_rides": [Record(int_key(r.vendor), r.value, r.time) for r in rides if r.total < LIMIT],
        "taxi_rides_per_vendor": _changes(((int_key(r.vendor), r.time, r.total) for r in rides), revenue=False),
        "taxi_zone_hours": _changes((_zone_hour(r), r.time, r.total) for r in rides),
        "taxi_enriched_rides": enriched,
        "taxi_boroughs": _changes((_borough(e), e.time, r.total) for r, e in zip(rides, enriched, strict=True)),
    }


def _enriched(ride: Ride, zone: Zone | None) -> Record:
    value: dict[str, Value] = {
        "ZONE": zone.name if zone is not None else None,
        "BOROUGH": zone.borough if zone is not None else None,
        "VENDORID": ride.vendor,
        "PICKUP_TIME": ride.columns["TPEP_PICKUP_DATETIME"],
        "TOTAL_AMOUNT": ride.total,
    }
    return Record(int_key(ride.pickup_zone), value, ride.time)


def _zone_hour(ride: Ride) -> bytes:
    return window_key(int_key(ride.pickup_zone), ride.time // HOUR * HOUR)


def _borough(enriched: Record) -> bytes:
    assert enriched.value is not None
    return str(enriched.value["BOROUGH"] or UNKNOWN).encode()


def _changes(rows: Iterable[tuple[bytes, int, Decimal]], *, revenue: bool = True) -> list[Record]:
    """The changelog of COUNT and SUM: one record a row, with the time of the latest ride of its group so far."""
    count: Counter[bytes] = Counter()
    total: defaultdict[bytes, Decimal] = defaultdict(Decimal)
    latest: dict[bytes, int] = {}
    out = []
    for key, time, amount in rows:
        count[key] += 1
        total[key] += amount
        latest[key] = max(time, latest.get(key, time))
        value: dict[str, object] = {"RIDES": count[key]}
        if revenue:
            value["REVENUE"] = total[key]
        out.append(Record(key, value, latest[key]))
    return out


# ---------------------------------------------------------------- last values


def totals(rides: Sequence[Ride], zones: Sequence[Zone]) -> dict[str, dict[bytes, dict[str, object]]]:
    """The last value of every key of the tables, by sums over groups and not by way of the changes."""
    borough_of = {z.id: z.borough for z in zones}
    return {
        "taxi_rides_per_vendor": _groups(rides, lambda r: int_key(r.vendor), revenue=False),
        "taxi_zone_hours": _groups(rides, _zone_hour),
        "taxi_boroughs": _groups(rides, lambda r: borough_of.get(r.pickup_zone, UNKNOWN).encode()),
    }


def _groups(
    rides: Sequence[Ride], key_of: Callable[[Ride], bytes], *, revenue: bool = True
) -> dict[bytes, dict[str, object]]:
    groups: defaultdict[bytes, list[Decimal]] = defaultdict(list)
    for r in rides:
        groups[key_of(r)].append(r.total)
    return {
        key: {"RIDES": len(amounts), **({"REVENUE": sum(amounts, Decimal(0))} if revenue else {})}
        for key, amounts in groups.items()
    }


# ---------------------------------------------------------------- comparison

RESULTS: Mapping[str, str] = {
    "taxi_large_rides": "rides of 40 dollars and more",
    "taxi_small_rides": "rides of less than 40 dollars",
    "taxi_rides_per_vendor": "rides per vendor",
    "taxi_zone_hours": "rides and revenue per pickup zone and hour",
    "taxi_enriched_rides": "rides with zone and borough",
    "taxi_boroughs": "rides and revenue per borough",
}
"""The result topics, with what is in them."""


def compare(
    expected: Mapping[str, Sequence[Record]],
    finals: Mapping[str, Mapping[bytes, Mapping[str, object]]],
    got: Mapping[str, Sequence[Record]],
    rides: int,
) -> list[Check]:
    """The checks of all result topics against what :func:`expect` and :func:`totals` give for ``rides`` rides."""
    checks = []
    for topic, title in RESULTS.items():
        want, have = expected[topic], got.get(topic, ())
        rows = [(r.key, r.value) for r in want], [(r.key, r.value) for r in have]
        checks.append(_lists(f"{title}: {len(want)} records, key, value and order", *rows))
        checks.append(_lists(f"{title}: record times", [r.time for r in want], [r.time for r in have]))
    for topic, groups in finals.items():
        last = {r.key: r.value for r in got.get(topic, ())}
        checks.append(_dicts(f"{RESULTS[topic]}: last values of {len(groups)} keys", groups, last))
    branches = len(got.get("taxi_large_rides", ())) + len(got.get("taxi_small_rides", ()))
    checks.append(_lists(f"branches: together {rides} rides", [rides], [branches]))
    lost = _unknown(expected["taxi_enriched_rides"])
    checks.append(_lists(f"unknown zones: {lost} rides", [lost], [_unknown(got.get("taxi_enriched_rides", ()))]))
    return checks


def _unknown(enriched: Iterable[Record]) -> int:
    return sum(r.value is not None and r.value.get("ZONE") is None and r.value.get("BOROUGH") is None for r in enriched)


def _lists(name: str, want: Sequence[object], have: Sequence[object]) -> Check:
    wrong = []
    if len(want) != len(have):
        wrong.append(f"{len(want)} expected, {len(have)} found")
    for i, (w, h) in enumerate(zip(want, have, strict=False)):
        if w != h:
            wrong.append(f"number {i}: {_difference(w, h)}")
    return Check(name, not wrong, _first(wrong))


def _dicts(name: str, want: Mapping[bytes, object], have: Mapping[bytes, object]) -> Check:
    wrong = [
        f"key {key.hex()}: {_difference(want.get(key), have.get(key))}"
        for key in [*want, *(k for k in have if k not in want)]
        if key not in want or key not in have or want[key] != have[key]
    ]
    return Check(name, not wrong, _first(wrong))


def _first(wrong: Sequence[str]) -> tuple[str, ...]:
    more = [f"… and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
    return (*wrong[:SHOWN], *more)


def _difference(want: object, have: object) -> str:
    """What is expected and found; of records with one key the columns that differ."""
    where = ""
    if isinstance(want, tuple) and isinstance(have, tuple) and want[0] == have[0]:
        where, want, have = f"{_shown(want[0])}: ", want[1], have[1]
    if isinstance(want, Mapping) and isinstance(have, Mapping):
        same = {k for k in want if k in have and want[k] == have[k]}
        want = {k: v for k, v in want.items() if k not in same}
        have = {k: v for k, v in have.items() if k not in same}
    return f"{where}expected {_shown(want)}, found {_shown(have)}"


def _shown(item: object) -> str:
    if isinstance(item, tuple):
        return " ".join(map(_shown, item))
    if isinstance(item, bytes):
        return f"key {item.hex()}"
    if isinstance(item, Mapping):
        return "{" + ", ".join(f"{k}: {v}" for k, v in item.items()) + "}"
    return "nothing" if item is None else str(item)
