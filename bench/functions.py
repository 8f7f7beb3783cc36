"""Python functions beside those of Faust, Quix Streams and PyFlink: a topic, a function of a text, a filter, a topic.

Each contender first shows with few records that its results are exact: each record's result once, its text as the
function gives it, each key's in order. Who fails takes no part. Then each round measures all of them, in an order that
chance gives.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from confluent_kafka import TopicPartition

from bench import latency, throughput
from bench.contenders import Contender
from bench.jobs import KEYS, Job
from bench.python_peers.programs.rule import checked, rule
from bench.throughput import fill
from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import KsqlError
from ksqlpy.runtime import Engine

__all__ = ["FUNCTIONS", "JOBS", "FunctionJob", "Rounds", "faults", "functions", "orders"]

_SOURCE = Path(__file__).parent / "python_peers" / "programs" / "rule.py"
_BODY = f"LANGUAGE PYTHON AS $$\n{_SOURCE.read_text(encoding='utf-8')}$$;"

FUNCTIONS = (
    f"CREATE OR REPLACE FUNCTION RULE(amount STRING) RETURNS STRING {_BODY}",
    f"CREATE OR REPLACE FUNCTION CHECKED(amount STRING) RETURNS BOOLEAN {_BODY}",
)
"""The statements with which ksqlpy gets the functions that the others' programs import."""

_BROKER = {"group.initial.rebalance.delay.ms": "3000"}
"""Kafka's own setting, without which programs that start together as one group disturb each other."""
_ENABLED = {"ksqlpy.functions.python.enabled": "true"}

FEW = 4_000
"""Records that show that results are exact."""
PATIENCE = 90.0
"""Seconds for which these results are waited for."""
CALM = 3.0
"""Seconds after the last of them in which more would be seen."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class FunctionJob(Job):
    """Records with an amount, of which three in four pass: by their number and by their amount alike."""

    def amount(self, i: int) -> str:
        """The amount of the i-th record; from 25 on it is checked."""
        return f"{i % 4 * 25 + i // 4 % 100 / 4:.2f} EUR"

    def record(self, i: int, now: float) -> tuple[bytes, bytes]:
        """Key and value of the i-th record."""
        return b"k%d" % self._key(i), json.dumps({"V": i, "T": now, "A": self.amount(i)}).encode()

    def backlog_record(self, i: int) -> tuple[bytes, bytes]:
        """Key and value (some 80 bytes) of the i-th record of a backlog; a part of it nobody reads, as is usual."""
        value = f'{{"V": {i}, "T": {1.7e9 + i / 1000:.6f}, "NOTE": "not a column", "A": "{self.amount(i)}"}}'
        return b"k%d" % self._key(i), value.encode()

    def results_of(self, count: int) -> dict[int, tuple[str, float, str | None]]:
        """Key, time and text of the results of the first records of a backlog, by their numbers."""
        in_select = self.name == JOBS[0].name
        return {
            i: (f"k{self._key(i)}", 1.7e9 + i / 1000, rule(self.amount(i)) if in_select else self.amount(i))
            for i in range(count)
            if (i % 4 != 0 if in_select else checked(self.amount(i)))
        }


_STREAM = (
    "CREATE STREAM S{n} (K STRING KEY, V INT, T DOUBLE, A STRING)"
    " WITH (KAFKA_TOPIC='bench_s{n}', VALUE_FORMAT='JSON', PARTITIONS={p});"
)

JOBS = (
    FunctionJob(
        "function in SELECT",
        _STREAM,
        "CREATE STREAM {o} AS SELECT K, V, T, RULE(A) AS R FROM S{n} WHERE V % 4 <> 0;",
        results=0.75,
        timed=0.75,
    ),
    FunctionJob(
        "function in WHERE",
        _STREAM,
        "CREATE STREAM {o} AS SELECT K, V, T, A AS R FROM S{n} WHERE CHECKED(A);",
        results=0.75,
        timed=0.75,
    ),
)


@dataclass(frozen=True)
class Rounds:
    """How much is measured: the rounds, records of a backlog, records a second, for so many seconds.

    A part without records, or without seconds, is left out. ``seed``: of the orders.
    """

    rounds: int
    records: int
    rate: int
    seconds: float
    seed: int


def functions(
    who: Sequence[Contender], jobs: Sequence[FunctionJob], how: Rounds, properties: Mapping[str, object]
) -> Iterator[str]:
    """Gives lines: who is exact, each round's figures, then the tables; ``properties``: of ksqlpy's engine."""
    with EmbeddedKafka(settings=_BROKER) as broker:
        ours = any(w.ours for w in who)
        engine = Engine(Config.of({"bootstrap.servers": broker.bootstrap, **properties, **(_ENABLED if ours else {})}))
        engine.start()
        try:
            for statement in FUNCTIONS if ours else ():
                engine.execute(statement)
            yield from _functions(engine, who, jobs, how)
        finally:
            engine.stop()


def _functions(engine: Engine, who: Sequence[Contender], jobs: Sequence[FunctionJob], how: Rounds) -> Iterator[str]:
    for i, job in enumerate(jobs):
        able: list[Contender] = []
        fill(engine, job, f"X{i}", FEW)
        for c, w in enumerate(who):
            wrong = _exact(engine, w, job, f"X{i}", f"X{i}_{c}")
            yield f"{job.name}, {w.name}: {wrong or f'the results of {FEW:,} records are exact'}"
            if not wrong:
                able.append(w)
        turns = orders(able, how.rounds, how.seed)
        if how.seconds:
            yield from _latency(engine, job, turns, how, f"L{i}")
        if how.records:
            yield from _throughput(engine, job, turns, how, f"B{i}")


def orders(items: Sequence[Item], rounds: int, seed: int) -> list[list[Item]]:
    """An order for each round, by chance: what else happens on the machine meets all alike."""
    chance = random.Random(seed)
    return [chance.sample(items, len(items)) for _ in range(rounds)]


def _latency(
    engine: Engine, job: FunctionJob, turns: Sequence[Sequence[Contender]], how: Rounds, suffix: str
) -> Iterator[str]:
    found: list[latency.Latency] = []
    for number, turn in enumerate(turns):
        measured: list[latency.Latency] = []
        for c, who in enumerate(turn):
            try:
                name = f"{suffix}_{number}_{c}"
                measured.append(latency.measure(engine, who, job, name, rate=how.rate, seconds=how.seconds))
            except RuntimeError as e:  # the others' figures are still worth having
                yield f"round {number + 1}, {job.name}, {who.name}: no figures: {e}"
        yield f"round {number + 1}, in this order: {', '.join(w.name for w in turn)}"
        if {r.who.ours for r in measured} == {True, False}:
            yield latency.ratios(measured)
        found.extend(measured)
    found.sort(key=lambda r: r.who.name)
    yield latency.table(found)


def _throughput(
    engine: Engine, job: FunctionJob, turns: Sequence[Sequence[Contender]], how: Rounds, suffix: str
) -> Iterator[str]:
    yield f"a backlog of {how.records:,} records written in {fill(engine, job, suffix, how.records):.1f} s"
    runs: list[throughput.Backlog] = []
    for number, turn in enumerate(turns):
        for c, who in enumerate(turn):
            name = f"{suffix}_{number}_{c}"
            try:
                run = throughput.measure(engine, who, job, suffix, name, how.records)
            except RuntimeError as e:  # the others' figures are still worth having
                yield f"round {number + 1}, {job.name}, {who.name}: no figures: {e}"
                continue
            runs.append(run)
            yield f"round {number + 1}, {who.name}: {run.flow:,.0f} results/s, 2nd half {run.second_half:,.0f}"
    runs.sort(key=lambda r: r.who.name)
    yield throughput.LEGEND
    if {r.who.ours for r in runs} == {True, False}:
        yield throughput.ratios(runs)
    yield throughput.table(runs)


# ------------------------------------------------------------ whether results are exact


def _exact(engine: Engine, who: Contender, job: FunctionJob, suffix: str, sink: str) -> str:
    """What is wrong with a contender's results of few records, in one line; empty if nothing is."""
    due = job.results_of(FEW)
    found: list[tuple[str, Mapping[str, object]]] = []
    consumer = engine.kafka.reader(committed=True)
    try:
        with who.run(engine, job, suffix, sink, quick=True) as run:
            run.wait()
            consumer.assign([TopicPartition(sink, number, 0) for number in range(job.partitions)])
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end:
                message = consumer.poll(0.2)
                if message is None or message.error() is not None:
                    run.check()
                    continue
                found.append(((message.key() or b"").decode(), json.loads(message.value() or b"{}")))
                if len(found) == len(due):  # more must not come
                    end = time.monotonic() + CALM
    except (RuntimeError, KsqlError) as e:
        return f"it does not run: {e}"
    finally:
        consumer.close()
    return "; ".join(faults(due, found))


def faults(
    due: Mapping[int, tuple[str, float, str | None]], found: Sequence[tuple[str, Mapping[str, object]]]
) -> list[str]:
    """What is wrong with results (keys and values, each partition in its order): how many, and an example."""
    numbers = [value.get("V") for _, value in found]
    seen = Counter(numbers)
    missing = [v for v in due if v not in seen]
    more = [v for v, count in seen.items() if count > 1 or v not in due]
    other = [
        (key, value)
        for key, value in found
        if isinstance(v := value.get("V"), int) and v in due and (key, value.get("T"), value.get("R")) != due[v]
    ]
    last: dict[str, int] = {}
    late: list[int] = []
    for key, value in found:
        if isinstance(v := value.get("V"), int):
            if v < last.get(key, -1):
                late.append(v)
            last[key] = v
    kinds: tuple[tuple[str, Sequence[object]], ...] = (
        ("missing", missing),
        ("not due or there twice", more),
        ("wrong", other),
        ("not in order", late),
    )
    return [f"{len(some)} of {len(due)} results {what}, as {some[0]}" for what, some in kinds if some]


assert FEW % (4 * KEYS) == 0
