"""Sets of queries over the events of a generator: whether each answer is exact, and how many events a second it takes.

A set has a folder of queries, one a file, whose last result has the name of the file, and ``setup.sql`` with what they
read. Its answers are computed from the events alone, without ksqlpy.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from bench.jobs import bulk_producer, send
from ksqlpy import Engine

__all__ = [
    "Answer",
    "Event",
    "Row",
    "Suite",
    "Value",
    "columns_of",
    "declare",
    "dropped",
    "results_of",
    "run",
    "wrong",
]

Row = tuple[Any, ...]
Value = int | float | str

_PATIENCE = 600.0
_ESTIMATE = 0.03
"""By how much COUNT_DISTINCT may differ: some four times its standard error."""


@dataclass(frozen=True)
class Event:
    """An event: the topic it belongs to, its time (ms since 1970), its columns, and which of them is its key."""

    topic: str
    time: int
    columns: Mapping[str, Value]
    key_column: str = ""

    @property
    def key(self) -> bytes | None:
        """The key of its record in the format KAFKA, a BIGINT or a STRING."""
        if not self.key_column:
            return None
        key = self.columns[self.key_column]
        return key.to_bytes(8, "big", signed=True) if isinstance(key, int) else str(key).encode()

    @property
    def value(self) -> bytes:
        """The value of its record, JSON."""
        columns = {name: value for name, value in self.columns.items() if name != self.key_column}
        return json.dumps(columns, separators=(",", ":")).encode()


Answer = Callable[[Sequence[Event]], list[Row]]


def columns_of(events: Iterable[Event], topic: str) -> list[dict[str, Any]]:
    """The columns of the events of a topic."""
    return [dict(e.columns) for e in events if e.topic == topic]


@dataclass(frozen=True)
class Suite:
    """A set of queries.

    ``folder``: of the queries. ``events``: gives, for a number and a seed, so many events, and ahead of them what
    tables hold from the start. ``answers``: the rows that each query must give, by its name: what a table holds at the
    end, and the rows of a stream in any order. ``read``: what is read of a result that has other columns than its
    answer. ``estimates``: places of columns that are estimates. ``name``: stands ahead of those of the queries.
    """

    folder: Path
    events: Callable[[int, int], Iterable[Event]]
    answers: Mapping[str, Answer]
    read: Mapping[str, str] = field(default_factory=dict)
    estimates: Mapping[str, Sequence[int]] = field(default_factory=dict)
    name: str = ""

    def text(self, name: str) -> str:
        """The statements of a query, or ``setup``."""
        return (self.folder / f"{name}.sql").read_text(encoding="utf-8")

    def label(self, name: str) -> str:
        """What lines call a query."""
        return f"{self.name}/{name}" if self.name else name

    def wrong(self, name: str, due: Sequence[Row], found: Sequence[Row]) -> str:
        """What is wrong with a query's results, in one line; empty if nothing is."""
        return wrong(due, found, self.estimates.get(name, ()))


def run(suite: Suite, engine: Engine, count: int, names: Sequence[str], rounds: int, seed: int) -> Iterator[str]:
    """Gives lines: how many events there are, then what each query gives and how quickly."""
    backlog = list(suite.events(count, seed))
    yield declare(suite, engine, count, backlog, seed)
    for name in names:
        yield from _query(suite, engine, name, count, backlog, rounds)


def declare(suite: Suite, engine: Engine, count: int, backlog: Sequence[Event], seed: int) -> str:
    """Declares what the queries read, from its start on, and writes the events; the line says how many there are."""
    engine.properties["auto.offset.reset"] = "earliest"
    engine.sql(suite.text("setup"))
    begin = time.monotonic()
    producer = bulk_producer(engine.bootstrap_servers)
    for event in backlog:
        send(producer, event.topic, event.key, event.value, at=event.time)
    producer.flush()
    each = ", ".join(f"{n:,} of {topic}" for topic, n in sorted(Counter(e.topic for e in backlog).items()))
    of = f" of {suite.name}" if suite.name else ""
    return f"{count:,} events{of} of seed {seed} ({each}), written in {time.monotonic() - begin:.1f} s"


def _query(suite: Suite, engine: Engine, name: str, count: int, backlog: Sequence[Event], rounds: int) -> Iterator[str]:
    due, label = suite.answers[name](backlog), suite.label(name)
    for number in range(rounds):
        load, begin = os.getloadavg()[0], time.monotonic()
        engine.sql(suite.text(name))
        try:
            for query in engine.queries():
                query.wait(timeout=_PATIENCE)
            took = time.monotonic() - begin
            if number == 0:
                fault = suite.wrong(name, due, results_of(suite, engine, name))
                yield f"{label}: {fault or f'{len(due):,} results are exact'}"
            yield f"{label}, round {number + 1}: {count / took:,.0f} events/s in {took:.1f} s, load {load:.1f}"
        finally:
            engine.sql(dropped(suite.text(name)))


def results_of(suite: Suite, engine: Engine, name: str) -> list[Row]:
    """What a query has given, as its answer has it."""
    rows = engine.query(f"SELECT {suite.read.get(name, '*')} FROM {name};")
    return [tuple(_plain(v) for v in row) for row in rows]


def dropped(text: str) -> str:
    """The statements that take back those of a text, where no other queries run; topics of others stay."""
    created = re.findall(r"^CREATE (STREAM|TABLE) (\w+)([^;]*);", text, re.MULTILINE)
    own = [(kind, name, " DELETE TOPIC" if re.search(r"\bAS\s+SELECT\b", rest) else "") for kind, name, rest in created]
    return "TERMINATE ALL;" + "".join(f"DROP {kind} IF EXISTS {name}{topic};" for kind, name, topic in reversed(own))


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


def wrong(due: Sequence[Row], found: Sequence[Row], estimates: Sequence[int] = ()) -> str:
    """What is wrong with results, in one line; empty if nothing is. ``estimates``: places of columns."""
    if len(due) != len(found):
        return f"{len(found):,} results, not {len(due):,}"
    pairs = zip(sorted(due, key=_order), sorted(found, key=_order), strict=True)
    bad = [(d, f) for d, f in pairs if not _same(d, f, estimates)]
    return f"{len(bad):,} of {len(due):,} results are wrong, as {bad[0][1]}, not {bad[0][0]}" if bad else ""


def _order(row: Row) -> list[str]:
    return [
        f"{v:030}" if isinstance(v, int) else f"{v:040.9f}" if isinstance(v, (float, Decimal)) else str(v) for v in row
    ]


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
