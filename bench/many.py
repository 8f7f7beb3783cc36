"""Many queries in one server: memory, also of functions in Python, processor time when idle, whether each gives rows.

And the warm start.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import psutil
from confluent_kafka import Producer, TopicPartition

from bench.contenders import spark_jvms
from ksqlpy.config import Config
from ksqlpy.runtime import Engine
from ksqlpy.runtime.statements.functions import ENABLED
from ksqlpy.spark.gateway import jvm_of

__all__ = ["Memory", "beside_functions", "many", "warm_start"]


def _first_row(engine: Engine, topic: str, begin: float, deadline: float = 60) -> float:
    consumer = engine.kafka.reader()
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        while time.time() < begin + deadline:
            message = consumer.poll(0.05)
            if message is not None and message.error() is None:
                return time.time() - begin
    finally:
        consumer.close()
    raise TimeoutError(f"no row in {topic}")


def warm_start(engine: Engine, rounds: int = 5) -> dict[str, list[float]]:
    """Seconds from a statement's acceptance to its first row, by job, over a topic that holds records already."""
    engine.execute(
        "SET 'ksql.persistence.default.format.value' = 'JSON';"
        "CREATE STREAM W (K STRING KEY, V INT) WITH (KAFKA_TOPIC='bench_w', PARTITIONS=1);"
        "CREATE TABLE WT (K STRING PRIMARY KEY, N STRING) WITH (KAFKA_TOPIC='bench_wt', PARTITIONS=1);"
    )
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    for i in range(100):
        producer.produce("bench_wt", key=b"k%d" % (i % 10), value=json.dumps({"N": "n"}).encode())
        producer.produce("bench_w", key=b"k%d" % (i % 10), value=json.dumps({"V": i}).encode())
    producer.flush()
    kinds = {
        "filter + project": "CREATE STREAM {o} AS SELECT K, V FROM W WHERE V >= 0;",
        "GROUP BY": "CREATE TABLE {o} AS SELECT K, COUNT(*) AS N FROM W GROUP BY K;",
        "tumbling GROUP BY": (
            "CREATE TABLE {o} AS SELECT K, COUNT(*) AS N FROM W WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY K;"
        ),
        "stream-table join": "CREATE STREAM {o} AS SELECT W.K AS K, V, N FROM W JOIN WT ON W.K = WT.K;",
    }
    found: dict[str, list[float]] = {k: [] for k in kinds}
    for i in range(rounds):
        for j, (kind, statement) in enumerate(kinds.items()):
            name = f"WO{i}_{j}"
            [entity] = engine.execute(statement.format(o=name), {"auto.offset.reset": "earliest"})
            found[kind].append(_first_row(engine, name, time.time()))
            engine.execute(f"TERMINATE {entity['commandStatus']['queryId']};")
    return found


def many(engine: Engine, count: int) -> str:
    """Runs ``count`` queries side by side, half of them GROUP BYs, each over a topic of its own; a report."""
    begin = time.time()
    queries = _Queries(engine, count)
    accepted = queries.accepted
    queries.round_trip(120)
    first = time.time() - begin - queries.declared
    jvms = spark_jvms(engine)
    latencies: list[float] = []
    starved = 0
    for _ in range(20):
        rows, some = queries.round_trip(10)
        starved = max(starved, count - len(rows))
        latencies += some
    cpu = [_cpu(jvms, 5) for _ in range(3)]
    rss = sum(p.memory_info().rss for p in jvms) / 1e6
    states = [q["state"] for q in engine.execute("SHOW QUERIES;")[0]["queries"]]
    latencies.sort()
    queries.close()
    return (
        f"{count} queries: accepted in {accepted:.1f} s, all gave a row after {first:.1f} s; "
        f"{states.count('RUNNING')} running, {starved} starved in 20 rounds; JVM {rss:.0f} MB RSS, "
        f"idle {statistics.median(cpu):.0f} % of one core; round trip p50 {latencies[len(latencies) // 2]:.1f} ms, "
        f"p99 {latencies[int(len(latencies) * 0.99)]:.1f} ms (load {os.getloadavg()[0]:.1f})"
    )


class _Queries:
    """Queries side by side, half of them GROUP BYs, each over a topic of its own.

    ``functions``: each calls a function in Python of its own, where it would compute else. ``declared``, ``accepted``:
    seconds until the statements of the sources were done, and behind them those of the queries.
    """

    def __init__(self, engine: Engine, count: int, *, functions: bool = False) -> None:
        self._count = count
        begin = time.time()
        for i in range(count):
            engine.execute(
                f"CREATE STREAM M{i} (K STRING KEY, V INT, T DOUBLE)"
                f" WITH (KAFKA_TOPIC='bench_m{i}', VALUE_FORMAT='JSON', PARTITIONS=1);"
            )
            if functions:
                engine.execute(f"CREATE FUNCTION F{i}(V INT) RETURNS INT LANGUAGE PYTHON AS $$ return v + {i} $$;")
        self.declared = time.time() - begin
        for i in range(count):
            value = f"F{i}(V)" if functions else f"V + {i}"
            query = (
                f"CREATE TABLE N{i} AS SELECT K, COUNT(*) AS N, MAX(T) AS T, MAX({value}) AS V FROM M{i} GROUP BY K;"
                if i % 2
                else f"CREATE STREAM N{i} AS SELECT K, {value} AS V, T FROM M{i} WHERE V >= 0;"
            )
            engine.execute(query, {"auto.offset.reset": "earliest"})
        self.accepted = time.time() - begin - self.declared
        self._producer = Producer({"bootstrap.servers": engine.bootstrap, "linger.ms": 0})
        self._consumer = engine.kafka.reader()
        self._consumer.assign([TopicPartition(f"N{i}", 0, 0) for i in range(count)])

    def round_trip(self, deadline: float) -> tuple[dict[str, int], list[float]]:
        """Sends a record to each, and waits for a row of each: how many came by topic, and after how many ms."""
        for i in range(self._count):
            value = json.dumps({"V": 1, "T": time.time()}).encode()
            self._producer.produce(f"bench_m{i}", key=b"k", value=value)
        self._producer.flush()
        rows: dict[str, int] = {}
        latencies = []
        end = time.time() + deadline
        while len(rows) < self._count and time.time() < end:
            message = self._consumer.poll(0.05)
            if message is not None and message.error() is None:
                row = json.loads(message.value() or b"{}")
                topic = str(message.topic())
                if row["V"] != 1 + int(topic[1:]):
                    raise RuntimeError(f"{topic} has a wrong row: {row}")
                rows[topic] = rows.get(topic, 0) + 1
                latencies.append((time.time() - row["T"]) * 1000)
        return rows, latencies

    def close(self) -> None:
        """Ends what sends and reads."""
        self._consumer.close()


# ------------------------------------------------------------ with functions in Python


@dataclass(frozen=True)
class Memory:
    """MB: resident of the JVM behind a full collection, live in its heap, and of the processes of Python.

    What processes share counts in parts.
    """

    jvm: float
    heap: float
    python: float
    processes: int

    @property
    def all(self) -> float:
        """Resident memory of JVM and Python together."""
        return self.jvm + self.python


def beside_functions(count: int, rounds: int, properties: Mapping[str, object]) -> Iterator[str]:
    """The memory of ``count`` queries with a function in Python each, beside as many that have none; lines.

    Each round has two engines, one after the other, with a broker and a JVM of their own, in turns.
    """
    found: dict[bool, list[Memory]] = {False: [], True: []}
    for number in range(rounds):
        for functions in (False, True) if number % 2 else (True, False):
            used = _memory_of(count, functions, properties)
            found[functions].append(used)
            yield (
                f"round {number + 1}, {count} queries {'with' if functions else 'without'} functions:"
                f" JVM {used.jvm:.0f} MB resident, {used.heap:.0f} MB of heap in use;"
                f" {used.processes} processes of Python with {used.python:.0f} MB (load {os.getloadavg()[0]:.1f})"
            )
    more = [a.all - b.all for a, b in zip(found[True], found[False], strict=True)]
    shown = " ".join(f"{m:.0f}" for m in more)
    yield f"{count} queries with functions: {statistics.median(more):.0f} MB more than without (median of {shown})"


def _memory_of(count: int, functions: bool, properties: Mapping[str, object]) -> Memory:
    engine = Engine(Config.of({**properties, ENABLED: "true"}))
    engine.start()
    try:
        queries = _Queries(engine, count, functions=functions)
        try:
            for patience in (180, *([20] * 20)):
                rows, _ = queries.round_trip(patience)
                if len(rows) < count:
                    raise RuntimeError(f"{count - len(rows)} queries gave no row within {patience} s")
            return _memory(engine)
        finally:
            queries.close()
    finally:
        engine.stop()


def _memory(engine: Engine) -> Memory:
    java = jvm_of(engine.session).java.lang
    for _ in range(2):
        java.System.gc()
        time.sleep(2)
    runtime = java.Runtime.getRuntime()
    jvms = spark_jvms(engine)
    python = [p for p in psutil.Process().children(recursive=True) if _is_python(p)]
    return Memory(
        sum(p.memory_info().rss for p in jvms) / 1e6,
        (runtime.totalMemory() - runtime.freeMemory()) / 1e6,
        sum(p.memory_full_info().pss for p in python) / 1e6,
        len(python),
    )


def _is_python(process: psutil.Process) -> bool:
    try:
        return process.name().startswith("python")
    except psutil.NoSuchProcess:
        return False


def _cpu(processes: list[psutil.Process], seconds: float) -> float:
    def used() -> float:
        return sum(sum(p.cpu_times()[:2]) for p in processes)

    before = used()
    time.sleep(seconds)
    return (used() - before) / seconds * 100
