"""What the recipes must give, computed from the events alone: none of ksqlpy's own code takes part."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from bench.suite import Answer, Event, Row, columns_of

__all__ = ["ANSWERS"]

_SECOND = 1000
_MINUTE = 60 * _SECOND


def _timed(events: Iterable[Event], topic: str, key: str) -> dict[Any, list[tuple[int, dict[str, Any]]]]:
    """Time and columns of the events of a topic, for each key."""
    found: dict[Any, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for event in events:
        if event.topic == topic:
            found[event.columns[key]].append((event.time, dict(event.columns)))
    return found


def _visits(each: Sequence[tuple[int, dict[str, Any]]], gap: int) -> list[list[tuple[int, dict[str, Any]]]]:
    """Parts of events in the order of time, with a pause of more than ``gap`` ms between them."""
    parts = [[each[0]]]
    for before, after in itertools.pairwise(each):
        if after[0] - before[0] > gap:
            parts.append([])
        parts[-1].append(after)
    return parts


# ------------------------------------------------------------ clickstream


def _sessions(events: Sequence[Event]) -> list[Row]:
    found: list[Row] = []
    for user, clicks in _timed(events, "clicks", "user_id").items():
        for part in _visits(clicks, 30 * _SECOND):
            rows = [row for _, row in part]
            size = sum(row["bytes"] for row in rows)
            found.append((user, part[0][0], part[-1][0], len(rows), size, rows[0]["page"], rows[-1]["page"]))
    return found


def _pages(events: Sequence[Event]) -> list[Row]:
    sizes: dict[tuple[str, int], list[int]] = defaultdict(list)
    for page, clicks in _timed(events, "clicks", "page").items():
        for time, row in clicks:
            if row["status"] == 200:
                sizes[page, time // _MINUTE * _MINUTE].append(row["bytes"])
    return [(*key, len(each), sum(each) / len(each)) for key, each in sizes.items()]


def _errors(events: Sequence[Event]) -> list[Row]:
    plans = {row["id"]: row["plan"] for row in columns_of(events, "users")}
    clicks = columns_of(events, "clicks")
    found = Counter((plans[row["user_id"]], row["status"]) for row in clicks if row["status"] >= 400)
    return [(*key, n) for key, n in found.items()]


# ------------------------------------------------------------ fraud


def _bursts(events: Sequence[Event]) -> list[Row]:
    found: list[Row] = []
    for account, payments in _timed(events, "payments", "account").items():
        windows: dict[int, list[int]] = defaultdict(list)
        for time, row in payments:
            last = time // (5 * _SECOND) * 5 * _SECOND
            for start in (last - 5 * _SECOND, last):
                windows[start].append(row["amount"])
        found += [(account, start, len(each), sum(each)) for start, each in windows.items() if len(each) >= 5]
    return found


def _large(events: Sequence[Event]) -> list[Row]:
    found: list[Row] = []
    for account, payments in _timed(events, "payments", "account").items():
        amounts: list[int] = []
        for _, row in payments:
            amounts.append(row["amount"])
            mean = sum(amounts) / len(amounts)
            if len(amounts) >= 5 and row["amount"] > 3 * mean:
                found.append((account, row["id"], row["amount"], mean))
    return found


def _places(events: Sequence[Event]) -> list[Row]:
    found: list[Row] = []
    for account, payments in _timed(events, "payments", "account").items():
        for (before, one), (after, other) in itertools.combinations(payments, 2):
            if after - before <= 5 * _MINUTE and one["place"] != other["place"]:
                found.append((account, one["id"], other["id"], one["place"], other["place"]))
    return found


# ------------------------------------------------------------ inventory


def _in_stock(events: Sequence[Event]) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in columns_of(events, "supplies"):
        found[row["item"]] += row["quantity"]
    for row in columns_of(events, "orders"):
        found[row["item"]] -= row["quantity"]
    return found


def _stock(events: Sequence[Event]) -> list[Row]:
    return [*_in_stock(events).items()]


def _reorder(events: Sequence[Event]) -> list[Row]:
    stock = _in_stock(events)
    items = columns_of(events, "items")
    return [(i["item"], i["name"], stock[i["item"]], i["least"]) for i in items if stock[i["item"]] < i["least"]]


def _shortages(events: Sequence[Event]) -> list[Row]:
    return [(item, n) for item, n in _in_stock(events).items() if n < 30]


# ------------------------------------------------------------ anomaly


def _outliers(events: Sequence[Event]) -> list[Row]:
    windows: dict[tuple[str, int], list[float]] = defaultdict(list)
    now = 0
    for row in columns_of(events, "readings"):
        now = max(now, row["measured"])
        start = row["measured"] // _MINUTE * _MINUTE
        if start + _MINUTE + 30 * _SECOND > now:  # else it comes too late
            windows[row["machine"], start].append(row["celsius"])
    found: list[Row] = []
    for (machine, start), each in windows.items():
        if start + _MINUTE + 30 * _SECOND <= now and len(each) > 1:
            mean, deviation = statistics.fmean(each), statistics.stdev(each)
            if max(each) > mean + 4 * deviation:
                found.append((machine, start, len(each), mean, deviation, max(each)))
    return found


def _silent(events: Sequence[Event]) -> list[Row]:
    now = max(event.time for event in events)
    return [
        (machine, part[0][0], part[-1][0], len(part))
        for machine, readings in _timed(events, "readings", "machine").items()
        for part in _visits(readings, 15 * _SECOND)
        if part[-1][0] + 15 * _SECOND < now
    ]


def _late(events: Sequence[Event]) -> list[Row]:
    return [
        (machine, row["measured"], time - row["measured"])
        for machine, readings in _timed(events, "readings", "machine").items()
        for time, row in readings
        if time - row["measured"] > 5 * _SECOND
    ]


ANSWERS: dict[str, dict[str, Answer]] = {
    "clickstream": {"sessions": _sessions, "pages": _pages, "errors": _errors},
    "fraud": {"bursts": _bursts, "large": _large, "places": _places},
    "inventory": {"stock": _stock, "reorder": _reorder, "shortages": _shortages},
    "anomaly": {"outliers": _outliers, "silent": _silent, "late": _late},
}
"""The columns of each row, in the order of the query's columns, for each query of each set."""
