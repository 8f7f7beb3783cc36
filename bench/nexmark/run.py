"""Runs the queries of NEXMark over a backlog of events: whether each answer is exact, and how many events a second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.nexmark.answers import ANSWERS, ESTIMATES, SIDE
from bench.nexmark.generator import BEGIN, events
from bench.suite import Event, Suite, run
from ksqlpy import Engine

__all__ = ["NEXMARK", "QUERIES", "nexmark"]

QUERIES = tuple(sorted(ANSWERS, key=lambda name: int(name[1:])))


def _events(count: int, seed: int) -> Iterator[Event]:
    yield from (Event("side", BEGIN, {"k": k, "v": v}, "k") for k, v in SIDE.items())
    yield from events(count, seed=seed)


NEXMARK = Suite(
    folder=Path(__file__).with_name("queries"),
    events=_events,
    answers=ANSWERS,
    read={
        "q5": "start, ARRAY_SORT(auctions), bids",
        "q7": "best->`sort_col`, best->`col0`, best->`col1`",
        "q8": "id, name, auctions",
        "q9": "id, best->`sort_col`, best->`col0`",
        "q11": "bidder, bids",
    },
    estimates=ESTIMATES,
)


def nexmark(count: int, names: Sequence[str], rounds: int, seed: int = 1) -> Iterator[str]:
    """Gives lines: how many events there are, then what each query gives and how quickly."""
    with Engine(config={"ksqlpy.warm.up": "false"}) as engine:
        yield from run(NEXMARK, engine, count, names, rounds, seed)
