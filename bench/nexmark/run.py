"""Runs the queries of NEXMark over a backlog of events: whether each answer is exact, and how many events a second."""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from bench.jobs import bulk_producer, send
from bench.nexmark.answers import ANSWERS, ESTIMATES, SIDE, Row
from bench.nexmark.generator import TOPICS, Event, events
from ksqlpy import Engine

__all__ = ["QUERIES", "nexmark", "wrong"]

_FOLDER = Path(__file__).with_name("queries")
QUERIES = tuple(sorted(ANSWERS, key=lambda name: int(name[1:])))

_READ = {
    "q5": "start, ARRAY_SORT(auctions), bids",
    "q7": "best->`sort_col`, best->`col0`, best->`col1`",
    "q8": "id, name, auctions",
    "q9": "id, best->`sort_col`, best->`col0`",
    "q11": "bidder, bids",
}
"""What is read of a result that has more columns than its answer."""

_PATIENCE = 600.0
_ESTIMATE = 0.03
"""By how much COUNT_DISTINCT may differ: some four times its standard error."""


def nexmark(count: int, names: Sequence[str], rounds: int, seed: int = 1) -> Iterator[str]:
    """Gives lines: how many events there are, then what each query gives and how quickly."""
    backlog = list(events(count, seed=seed))
    with Engine(config={"ksqlpy.warm.up": "false"}) as engine:
        engine.properties["auto.offset.reset"] = "earliest"
        engine.sql(_text("setup"))
        begin = time.monotonic()
        _fill(engine, backlog)
        each = ", ".join(f"{sum(e.topic == topic for e in backlog):,} of {topic}" for topic in TOPICS)
        yield f"{count:,} events of seed {seed} ({each}), written in {time.monotonic() - begin:.1f} s"
        for name in names:
            yield from _query(engine, name, backlog, rounds)


def _text(name: str) -> str:
    return (_FOLDER / f"{name}.sql").read_text(encoding="utf-8")


def _fill(engine: Engine, backlog: Sequence[Event]) -> None:
    producer = bulk_producer(engine.bootstrap_servers)
    for k, v in SIDE.items():
        key = k.to_bytes(8, "big", signed=True)
        send(producer, "side", key, json.dumps({"v": v}).encode(), at=backlog[0].time)
    for event in backlog:
        send(producer, event.topic, event.key, event.value, at=event.time)
    producer.flush()


def _query(engine: Engine, name: str, backlog: Sequence[Event], rounds: int) -> Iterator[str]:
    due = ANSWERS[name](backlog)
    for number in range(rounds):
        load, begin = os.getloadavg()[0], time.monotonic()
        engine.sql(_text(name))
        try:
            for query in engine.queries():
                query.wait(timeout=_PATIENCE)
            took = time.monotonic() - begin
            found = [
                tuple(_plain(v) for v in row) for row in engine.query(f"SELECT {_READ.get(name, '*')} FROM {name};")
            ]
            if number == 0:
                yield f"{name}: {wrong(name, due, found) or f'{len(due):,} results are exact'}"
            yield f"{name}, round {number + 1}: {len(backlog) / took:,.0f} events/s in {took:.1f} s, load {load:.1f}"
        finally:
            engine.sql(_dropped(_text(name)))


def _dropped(text: str) -> str:
    """The statements that take back those of a text; who declares a topic of another one leaves it."""
    created = re.findall(r"^CREATE (STREAM|TABLE) (\w+)([^;]*);", text, re.MULTILINE)
    own = [(kind, name, " DELETE TOPIC" if re.search(r"\bAS\s+SELECT\b", rest) else "") for kind, name, rest in created]
    return "".join(f"DROP {kind} IF EXISTS {name}{topic};" for kind, name, topic in reversed(own))


# ------------------------------------------------------------ whether results are exact


def _plain(value: Any) -> Any:
    """A value as the answers have it: times in ms, structs and lists as tuples and lists."""
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    if isinstance(value, dict):
        return tuple(_plain(v) for v in value.values())
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return value


def wrong(name: str, due: Sequence[Row], found: Sequence[Row]) -> str:
    """What is wrong with a query's results, in one line; empty if nothing is."""
    if len(due) != len(found):
        return f"{len(found):,} results, not {len(due):,}"
    estimates = ESTIMATES.get(name, ())
    pairs = zip(sorted(due, key=_order), sorted(found, key=_order), strict=True)
    bad = [(d, f) for d, f in pairs if not _same(d, f, estimates)]
    return f"{len(bad):,} of {len(due):,} results are wrong, as {bad[0][1]}, not {bad[0][0]}" if bad else ""


def _order(row: Row) -> list[str]:
    return [f"{v:030}" if isinstance(v, int) else str(v) for v in row]


def _same(due: Row, found: Row, estimates: Sequence[int]) -> bool:
    if len(due) != len(found):
        return False
    for place, (d, f) in enumerate(zip(due, found, strict=True)):
        if place in estimates:
            same = math.isclose(d, f, rel_tol=_ESTIMATE, abs_tol=1)
        elif isinstance(d, float):
            same = math.isclose(d, float(f), rel_tol=1e-9)
        elif isinstance(d, Decimal):
            same = d == Decimal(f)
        else:
            same = d == f
        if not same:
            return False
    return True
