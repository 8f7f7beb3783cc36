"""Runs the recipes over a backlog of events each: whether each answer is exact, and how many events a second."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from bench.recipes import generator
from bench.recipes.answers import ANSWERS
from bench.suite import Suite, run
from ksqlpy import Engine

__all__ = ["RECIPES", "recipes"]

_READ = {
    "sessions": "user_id, WINDOWSTART, WINDOWEND, clicks, bytes, entry, last",
    "pages": "page, WINDOWSTART, views, mean",
    "bursts": "account, WINDOWSTART, payments, amount",
    "outliers": "machine, WINDOWSTART, readings, mean, deviation, highest",
    "silent": "machine, WINDOWSTART, WINDOWEND, readings",
}

RECIPES = tuple(
    Suite(
        folder=Path(__file__).parent / "queries" / name,
        events=getattr(generator, name),
        answers=answers,
        read=_READ,
        name=name,
    )
    for name, answers in ANSWERS.items()
)


def recipes(count: int, wanted: re.Pattern[str], rounds: int, seed: int = 1) -> Iterator[str]:
    """Gives lines for the queries whose names (``fraud/bursts``) are wanted: ``count`` events for each set."""
    with Engine(config={"ksqlpy.warm.up": "false"}) as engine:
        for suite in RECIPES:
            if names := [name for name in suite.answers if wanted.search(suite.label(name))]:
                yield from run(suite, engine, count, names, rounds, seed)
