"""What the queries must give, computed from the events alone: none of ksqlpy's own code takes part.

A table's answer is what it holds at the end. Rows of a stream may come in any order.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from bench.suite import Answer, Event, Row
from bench.suite import columns_of as _of

__all__ = ["ANSWERS", "ESTIMATES", "SIDE"]

SIDE = {k: f"side {k}" for k in range(0, 1000, 2)}
"""The table of q13: every other key."""

ESTIMATES = {"q15": range(5, 13), "q16": range(7, 15)}
"""Columns of COUNT_DISTINCT, which is an estimate of 14 bits."""


def _bids(*names: str) -> Answer:
    return lambda events: [tuple(b[n] for n in names) for b in _of(events, "bid")]


def _at(ms: int, form: str) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime(form)


def _q1(events: Sequence[Event]) -> list[Row]:
    return [
        (b["auction"], b["bidder"], Decimal("0.908") * b["price"], b["date_time"], b["extra"])
        for b in _of(events, "bid")
    ]


def _q3(events: Sequence[Event]) -> list[Row]:
    people = {p["id"]: p for p in _of(events, "person")}
    found = [(a["id"], people.get(a["seller"])) for a in _of(events, "auction") if a["category"] == 10]
    return [(id_, p["name"], p["city"], p["state"]) for id_, p in found if p and p["state"] in ("OR", "ID", "CA")]


def _while_open(events: Sequence[Event]) -> dict[int, tuple[int, list[dict[str, Any]]]]:
    """The category of each auction that got bids while it was open, and these bids."""
    auctions = {a["id"]: a for a in _of(events, "auction")}
    found: dict[int, tuple[int, list[dict[str, Any]]]] = {}
    for bid in _of(events, "bid"):
        auction = auctions.get(bid["auction"])
        if auction and auction["date_time"] <= bid["date_time"] <= auction["expires"]:
            found.setdefault(auction["id"], (auction["category"], []))[1].append(bid)
    return found


def _q4(events: Sequence[Event]) -> list[Row]:
    highest: dict[int, list[int]] = defaultdict(list)
    for category, bids in _while_open(events).values():
        highest[category].append(max(b["price"] for b in bids))
    return [(category, sum(prices) / len(prices)) for category, prices in highest.items()]


def _q5(events: Sequence[Event]) -> list[Row]:
    counts: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    now = 0
    for bid in _of(events, "bid"):
        now = bid["date_time"]
        last = now // 2000 * 2000
        for start in range(last - 8000, last + 1, 2000):
            counts[start][bid["auction"]] += 1
    found: list[Row] = []
    for start, each in counts.items():
        if start + 10_000 <= now:  # the window is closed
            most = max(each.values())
            found.append((start, sorted(auction for auction, n in each.items() if n == most), most))
    return found


def _q7(events: Sequence[Event]) -> list[Row]:
    best: dict[int, tuple[int, int, int]] = {}
    for bid in _of(events, "bid"):
        start = bid["date_time"] // 10_000
        if start not in best or bid["price"] > best[start][0]:
            best[start] = (bid["price"], bid["auction"], bid["bidder"])
    return [*best.values()]


def _q8(events: Sequence[Event]) -> list[Row]:
    people = {p["id"]: p for p in _of(events, "person")}
    counts: dict[Row, int] = defaultdict(int)
    for auction in _of(events, "auction"):
        person = people.get(auction["seller"])
        if person and person["date_time"] // 10_000 == auction["date_time"] // 10_000:
            counts[person["id"], person["name"]] += 1
    return [(*who, n) for who, n in counts.items()]


def _q9(events: Sequence[Event]) -> list[Row]:
    best = {id_: max(bids, key=lambda b: b["price"]) for id_, (_, bids) in _while_open(events).items()}
    return [(id_, b["price"], b["bidder"]) for id_, b in best.items()]


def _q10(events: Sequence[Event]) -> list[Row]:
    return [
        (*row, _at(row[3], "%Y-%m-%d"), _at(row[3], "%H:%M"))
        for row in _bids("auction", "bidder", "price", "date_time", "extra")(events)
    ]


def _q11(events: Sequence[Event]) -> list[Row]:
    times: dict[int, list[int]] = defaultdict(list)
    for bid in _of(events, "bid"):
        times[bid["bidder"]].append(bid["date_time"])
    found: list[Row] = []
    for bidder, each in times.items():
        n = 1
        for before, at in itertools.pairwise(each):
            if at - before > 10_000:
                found.append((bidder, n))
                n = 0
            n += 1
        found.append((bidder, n))
    return found


def _q13(events: Sequence[Event]) -> list[Row]:
    return [
        (b["auction"] % 1000, b["auction"], b["bidder"], b["price"], b["date_time"], SIDE[b["auction"] % 1000])
        for b in _of(events, "bid")
        if b["auction"] % 1000 in SIDE
    ]


def _q14(events: Sequence[Event]) -> list[Row]:
    found: list[Row] = []
    for b in _of(events, "bid"):
        price, hour = Decimal("0.908") * b["price"], int(_at(b["date_time"], "%H"))
        if 1_000_000 < price < 50_000_000:
            kind = "dayTime" if 8 <= hour <= 18 else "nightTime" if hour <= 6 or hour >= 20 else "otherTime"
            found.append((b["auction"], b["bidder"], price, kind, b["date_time"], b["extra"], b["extra"].count("c")))
    return found


def _groups(events: Sequence[Event], *names: str) -> dict[Row, list[dict[str, Any]]]:
    found: dict[Row, list[dict[str, Any]]] = defaultdict(list)
    for bid in _of(events, "bid"):
        of = {**bid, "day": _at(bid["date_time"], "%Y-%m-%d")}
        found[tuple(of[n] for n in names)].append(bid)
    return found


def _ranked(bids: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """All bids, and those of three ranks of prices."""
    ranks = [
        [b for b in bids if low <= b["price"] < high] for low, high in ((0, 10**4), (10**4, 10**6), (10**6, 10**12))
    ]
    return [[*bids], *ranks]


def _statistics(bids: Sequence[dict[str, Any]]) -> Row:
    ranked = _ranked(bids)
    distinct = [len({b[name] for b in some}) for name in ("bidder", "auction") for some in ranked]
    return (*map(len, ranked), *distinct)


def _q15(events: Sequence[Event]) -> list[Row]:
    return [(*key, *_statistics(bids)) for key, bids in _groups(events, "day").items()]


def _q16(events: Sequence[Event]) -> list[Row]:
    return [
        (*key, max(_at(b["date_time"], "%H:%M") for b in bids), *_statistics(bids))
        for key, bids in _groups(events, "channel", "day").items()
    ]


def _q17(events: Sequence[Event]) -> list[Row]:
    found: list[Row] = []
    for key, bids in _groups(events, "auction", "day").items():
        prices = [b["price"] for b in bids]
        found.append((*key, *map(len, _ranked(bids)), min(prices), max(prices), sum(prices) / len(prices), sum(prices)))
    return found


def _q18(events: Sequence[Event]) -> list[Row]:
    return [
        (*key, *(bids[-1][n] for n in ("price", "channel", "date_time")))
        for key, bids in _groups(events, "bidder", "auction").items()
    ]


def _q19(events: Sequence[Event]) -> list[Row]:
    return [
        (*key, [(b["price"], b["bidder"]) for b in sorted(bids, key=lambda b: -b["price"])[:10]])
        for key, bids in _groups(events, "auction").items()
    ]


def _q20(events: Sequence[Event]) -> list[Row]:
    auctions = {a["id"]: a for a in _of(events, "auction") if a["category"] == 10}
    return [
        (
            *(b[n] for n in ("auction", "bidder", "price", "channel", "date_time")),
            *(a[n] for n in ("item_name", "initial_bid", "reserve", "seller", "category")),
        )
        for b in _of(events, "bid")
        if (a := auctions.get(b["auction"]))
    ]


def _q21(events: Sequence[Event]) -> list[Row]:
    numbers = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}
    found: list[Row] = []
    for b in _of(events, "bid"):
        named = re.search(r"(?:&|^)channel_id=([^&]*)", b["url"])
        number = numbers.get(b["channel"].lower()) or (named and named[1])
        if number:
            found.append((b["auction"], b["bidder"], b["price"], b["channel"], number))
    return found


def _q22(events: Sequence[Event]) -> list[Row]:
    return [
        (b["auction"], b["bidder"], b["price"], b["channel"], *b["url"].split("/")[3:6]) for b in _of(events, "bid")
    ]


ANSWERS: dict[str, Answer] = {
    "q0": _bids("auction", "bidder", "price", "date_time", "extra"),
    "q1": _q1,
    "q2": lambda events: [row for row in _bids("auction", "price")(events) if row[0] % 123 == 0],
    "q3": _q3,
    "q4": _q4,
    "q5": _q5,
    "q7": _q7,
    "q8": _q8,
    "q9": _q9,
    "q10": _q10,
    "q11": _q11,
    "q13": _q13,
    "q14": _q14,
    "q15": _q15,
    "q16": _q16,
    "q17": _q17,
    "q18": _q18,
    "q19": _q19,
    "q20": _q20,
    "q21": _q21,
    "q22": _q22,
}
"""The columns of each row, in the order of the query's columns."""
