"""NEXMark's queries in Flink SQL (``flink/``) beside ksqlpy's, over the same topics: events a second of both.

Both write with at_least_once, from the start of the topics, and take a checkpoint every 30 s. A query is compared where
both give as many results, which are counted as they come; the first round also looks whether they are exact. Where
Flink has only final results, ksqlpy's query is one with EMIT FINAL (``final/``). An event a day after the others closes
all windows.
"""

from __future__ import annotations

import json
import os
import random
import re
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from string import Template
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bench.contenders import BATCH, LINGER_MS, NotBuilt, built
from bench.flink_sql import FLINKS, PROJECT, started
from bench.nexmark.run import NEXMARK
from bench.results import Results, watch
from bench.suite import Event, Row, Value, declare, dropped, results_of
from ksqlpy import Engine

__all__ = [
    "COMPARED",
    "FINAL",
    "FLINK",
    "KSQLPY",
    "LEFT_OUT",
    "backlog_of",
    "beside_flink",
    "due_of",
    "rows_of",
    "statements",
]

_FOLDER = Path(__file__).parent

LEFT_OUT = {
    "q4": "a mean changes with each bid in ksqlpy, in Flink only with a bid that is the highest so far",
    "q5": "ksqlpy's list of a window changes with each count, Flink writes each auction of it once",
    "q9": "ksqlpy has a result for each bid, Flink for those that are the highest so far",
    "q19": "ksqlpy has an array for each bid, Flink a row for each rank that a bid changes",
}
"""Why queries are not compared: the numbers of results differ by nature."""

COMPARED = tuple(name for name in NEXMARK.answers if name not in LEFT_OUT)

FINAL = ("q7", "q8", "q11")
"""Those whose results are final in Flink."""

_CHANGES = ("q15", "q16", "q17", "q18")
"""Those that have a result for each bid: the new row of a table."""

_CHECKPOINT = 30
"""Seconds between two checkpoints of both."""

_SETTINGS = {
    "ksqlpy.warm.up": "false",
    "commit.interval.ms": _CHECKPOINT * 1000,
    "processing.guarantee": "at_least_once",
}

_WINDOW, _DAY = 10_000, 86_400_000
_LAST = 10**9 + 1
"""What the last event, which closes the windows, has for its numbers; q13's table has no such row for it.

Flink would hold the result of such a row back until a later event comes.
"""


# ------------------------------------------------------------ what is due


def backlog_of(count: int, seed: int) -> list[Event]:
    """The events, and one of each topic a day later, which closes all windows of the others."""
    events = list(NEXMARK.events(count, seed))
    time = events[-1].time // _WINDOW * _WINDOW + _DAY
    number: dict[str, Value] = {"id": _LAST, "date_time": time, "extra": "last"}
    person = number | {"name": "last", "email": "", "credit_card": "", "city": "", "state": ""}
    item: dict[str, Value] = {"item_name": "", "description": "", "initial_bid": 0, "reserve": 0, "category": 0}
    auction = number | item | {"expires": time + 1, "seller": _LAST}
    bid: dict[str, Value] = {"auction": _LAST, "bidder": _LAST, "price": 1, "channel": "last", "url": "https:///a/b/c"}
    return [
        *events,
        Event("side", time, {"k": _LAST, "v": "last"}, "k"),
        Event("person", time, person, "id"),
        Event("auction", time, auction, "id"),
        Event("bid", time, bid | {"date_time": time, "extra": "last"}),
    ]


def due_of(name: str, backlog: Sequence[Event]) -> tuple[list[Row], int]:
    """The answer of a query, and how many results it has until this answer is there."""
    answer = NEXMARK.answers[name]
    if name in FINAL:  # the windows of the last event stay open
        rows = answer([e for e in backlog if e.time < backlog[-1].time])
        return rows, len(rows)
    rows = answer(backlog)
    return rows, sum(e.topic == "bid" for e in backlog) if name in _CHANGES else len(rows)


# ------------------------------------------------------------ who runs them

KSQLPY, FLINK = "ksqlpy at_least_once", FLINKS[0]


@dataclass(frozen=True)
class _Running:
    """A query that runs: what raises RuntimeError where it has failed, and what reads its results."""

    check: Callable[[], object]
    rows: Callable[[], list[Row]]


@contextmanager
def _of_ksqlpy(engine: Engine, name: str, sink: str) -> Iterator[_Running]:
    del sink
    folder = "final" if name in FINAL else "queries"
    text = (_FOLDER / folder / f"{name}.sql").read_text(encoding="utf-8")
    engine.sql(text)

    def check() -> None:
        if failed := [query for query in engine.queries() if query.state == "ERROR"]:
            raise RuntimeError(f"{failed[0].id} has failed")

    try:
        yield _Running(check, lambda: results_of(NEXMARK, engine, name))
    finally:
        engine.sql(dropped(text))


def statements(name: str, bootstrap: str, sink: str) -> list[str]:
    """A query's program in Flink SQL."""
    broker = f"'properties.bootstrap.servers' = '{bootstrap}'"
    writes = (
        f"{broker}, 'topic' = '{sink}', 'value.format' = 'json', 'sink.delivery-guarantee' = 'at-least-once',"
        f" 'properties.linger.ms' = '{LINGER_MS}', 'properties.batch.size' = '{BATCH}'"
    )
    places = {
        "broker": broker,
        "source": f"'connector' = 'kafka', {broker}, 'scan.startup.mode' = 'earliest-offset', 'value.format' = 'json'",
        "rows": f"'connector' = 'kafka', {writes}",
        "changes": f"'connector' = 'upsert-kafka', {writes}, 'value.fields-include' = 'EXCEPT_KEY'",
    }
    texts = [(_FOLDER / "flink" / f"{part}.sql").read_text(encoding="utf-8") for part in ("setup", name)]
    lines = [line for line in "".join(texts).splitlines() if not line.startswith("--")]
    return [
        Template(text).substitute(places) for each in ("\n".join(lines) + "\n").split(";\n") if (text := each.strip())
    ]


@contextmanager
def _of_flink(engine: Engine, name: str, sink: str) -> Iterator[_Running]:
    admin = AdminClient({"bootstrap.servers": engine.bootstrap_servers})
    admin.create_topics([NewTopic(sink, 1, 1)])[sink].result()
    program = statements(name, engine.bootstrap_servers, sink)
    try:
        with started(_CHECKPOINT, program) as run:
            yield _Running(run.check, lambda: rows_of(program[-2], _records(engine.bootstrap_servers, sink)))
    finally:
        admin.delete_topics([sink])[sink].result()


_RUNS = {KSQLPY: _of_ksqlpy, FLINK: _of_flink}


def rows_of(table: str, records: Iterable[tuple[bytes | None, bytes]]) -> list[Row]:
    """The rows of records of Flink's, by the statement that declares them; a primary key has its last row only."""
    types = dict(re.findall(r"(\w+) (BIGINT|STRING|DOUBLE|DECIMAL)\b", table))
    key_column = re.search(r"(?:PRIMARY KEY \(|'key\.fields' = ')(\w+)", table)
    rows: dict[Any, Row] = {}
    for place, (key, value) in enumerate(records):
        columns = json.loads(value, parse_float=Decimal)
        if key and key.startswith(b"{"):
            columns |= json.loads(key)
        elif key and key_column:
            name = key_column[1]
            columns[name] = int.from_bytes(key, "big") if types[name] == "BIGINT" else key.decode()
        rows[key if "PRIMARY KEY" in table else place] = tuple(columns[name] for name in types)
    return [*rows.values()]


def _records(bootstrap: str, topic: str) -> Iterator[tuple[bytes | None, bytes]]:
    settings = {"bootstrap.servers": bootstrap, "group.id": topic, "enable.partition.eof": True}
    consumer = Consumer(settings | {"enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        while True:
            for message in consumer.consume(10_000, timeout=1):
                if (error := message.error()) is None:
                    yield message.key(), message.value() or b"{}"
                elif error.code() == KafkaError._PARTITION_EOF:
                    return
                else:
                    raise RuntimeError(f"{topic} cannot be read: {error}")
    finally:
        consumer.close()


# ------------------------------------------------------------ rounds

_CALM = 1.0
"""Seconds after the last result that is due in which more would be seen."""


def beside_flink(
    count: int, names: Sequence[str], rounds: int, seed: int = 1, who: Sequence[str] = (KSQLPY, FLINK)
) -> Iterator[str]:
    """Gives lines: what is left out, each run, and a table of medians; the order of those who run is by chance."""
    if FLINK in who:
        try:
            built(PROJECT)  # no run shall wait for it
        except NotBuilt as e:
            yield f"no Flink to compare with: {e.args[0]}"
            return
    backlog = backlog_of(count, seed)
    chance = random.Random(seed)
    with Engine(config=_SETTINGS) as engine:
        yield declare(NEXMARK, engine, count, backlog, seed)
        yield from (f"{name}: left out: {LEFT_OUT[name]}" for name in names if name in LEFT_OUT)
        found: dict[str, dict[str, list[Results]]] = {}
        for name in (name for name in names if name in COMPARED):
            rows, due = due_of(name, backlog)
            runs: dict[str, list[Results]] = {one: [] for one in who}
            for number in range(rounds):
                for one in chance.sample(who, len(who)):
                    load = os.getloadavg()[0]
                    try:
                        results, fault = _measure(engine, name, one, number, due, rows)
                    except RuntimeError as e:
                        yield f"{name}, {one}: no figures: {' '.join(str(e).splitlines()[:2])}"
                        continue
                    if fault or number == 0:
                        yield f"{name}, {one}: {fault or f'{due:,} results, and the answer of {len(rows):,} is exact'}"
                    if not fault:
                        runs[one].append(results)
                        rates = " ".join(f"{what} {_rate(results, of, count):,.0f}" for what, of in _MEASURES)
                        yield f"{name}, round {number + 1}, {one}: events/s: {rates}; load {load:.1f}"
            found[name] = runs
        if {*who} == {KSQLPY, FLINK}:
            yield from _table(found, count)


def _measure(engine: Engine, name: str, who: str, number: int, due: int, rows: Sequence[Row]) -> tuple[Results, str]:
    """How a run went, and what is wrong with its results; the first one is compared with the answer."""
    sink = name.upper() if who == KSQLPY else f"flink_{name}_{number}"
    begin = time.monotonic()
    with _RUNS[who](engine, name, sink) as run:
        results = watch(engine.bootstrap_servers, sink, due, begin, check=run.check)
        fault = f"{results.missing:,} of {due:,} results are missing" if results.missing else ""
        if not fault and number == 0:
            time.sleep(_CALM)
            there = sum(1 for _ in _records(engine.bootstrap_servers, sink))
            fault = f"{there:,} results, not {due:,}" if there != due else NEXMARK.wrong(name, rows, run.rows())
        return results, fault


# ------------------------------------------------------------ figures

_MEASURES: tuple[tuple[str, Callable[[Results], float]], ...] = (
    ("flow", lambda r: r.flow),
    ("2nd half", lambda r: r.second_half),
    ("whole", lambda r: r.whole),
)

_LEGEND = """events a second, medians of the rounds: ksqlpy, Flink, and the first divided by the second
  flow: from the first result to the last; 2nd half: from half of them to the last; whole: from the start to the last,
  where ksqlpy starts by a statement in an engine that runs, Flink by the launch of its process"""


def _rate(results: Results, of: Callable[[Results], float], count: int) -> float:
    """Results a second as events a second."""
    return of(results) * count / results.due


def _table(found: dict[str, dict[str, list[Results]]], count: int) -> Iterator[str]:
    """A row a query that both have run."""
    yield _LEGEND
    yield f"{'query':6} " + " ".join(f"{what:>11} {'Flink':>11} {'ratio':>6}" for what, _ in _MEASURES)
    for name, runs in found.items():
        if not all(runs.values()):
            yield f"{name:6} no figures of both"
            continue
        cells = []
        for _, of in _MEASURES:
            ours, flink = (statistics.median(_rate(r, of, count) for r in runs[who]) for who in (KSQLPY, FLINK))
            cells.append(f"{ours:11,.0f} {flink:11,.0f} {ours / flink:6.2f}")
        yield f"{name:6} " + " ".join(cells)
