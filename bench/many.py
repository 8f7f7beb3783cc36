"""Many queries in one server: memory, processor time when idle, whether each one gives rows; and the warm start."""

from __future__ import annotations

import json
import os
import statistics
import time

import psutil
from confluent_kafka import Producer, TopicPartition

from bench.contenders import spark_jvms
from ksqlpy.runtime import Engine

__all__ = ["many", "warm_start"]


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
    for i in range(count):
        engine.execute(
            f"CREATE STREAM M{i} (K STRING KEY, V INT, T DOUBLE)"
            f" WITH (KAFKA_TOPIC='bench_m{i}', VALUE_FORMAT='JSON', PARTITIONS=1);"
        )
    begin = time.time()
    for i in range(count):
        query = (
            f"CREATE TABLE N{i} AS SELECT K, COUNT(*) AS N, MAX(T) AS T FROM M{i} GROUP BY K;"
            if i % 2
            else f"CREATE STREAM N{i} AS SELECT K, V, T FROM M{i} WHERE V >= 0;"
        )
        engine.execute(query, {"auto.offset.reset": "earliest"})
    accepted = time.time() - begin
    producer = Producer({"bootstrap.servers": engine.bootstrap, "linger.ms": 0})
    consumer = engine.kafka.reader()
    consumer.assign([TopicPartition(f"N{i}", 0, 0) for i in range(count)])

    def round_trip(deadline: float) -> tuple[dict[str, int], list[float]]:
        for i in range(count):
            producer.produce(f"bench_m{i}", key=b"k", value=json.dumps({"V": 1, "T": time.time()}).encode())
        producer.flush()
        rows: dict[str, int] = {}
        latencies = []
        end = time.time() + deadline
        while len(rows) < count and time.time() < end:
            message = consumer.poll(0.05)
            if message is not None and message.error() is None:
                topic = str(message.topic())
                rows[topic] = rows.get(topic, 0) + 1
                latencies.append((time.time() - json.loads(message.value() or b"{}")["T"]) * 1000)
        return rows, latencies

    rows, _ = round_trip(120)
    first = time.time() - begin
    jvms = spark_jvms(engine)
    latencies: list[float] = []
    starved = 0
    for _ in range(20):
        rows, some = round_trip(10)
        starved = max(starved, count - len(rows))
        latencies += some
    cpu = [_cpu(jvms, 5) for _ in range(3)]
    rss = sum(p.memory_info().rss for p in jvms) / 1e6
    states = [q["state"] for q in engine.execute("SHOW QUERIES;")[0]["queries"]]
    latencies.sort()
    consumer.close()
    return (
        f"{count} queries: accepted in {accepted:.1f} s, all gave a row after {first:.1f} s; "
        f"{states.count('RUNNING')} running, {starved} starved in 20 rounds; JVM {rss:.0f} MB RSS, "
        f"idle {statistics.median(cpu):.0f} % of one core; round trip p50 {latencies[len(latencies) // 2]:.1f} ms, "
        f"p99 {latencies[int(len(latencies) * 0.99)]:.1f} ms (load {os.getloadavg()[0]:.1f})"
    )


def _cpu(processes: list[psutil.Process], seconds: float) -> float:
    def used() -> float:
        return sum(sum(p.cpu_times()[:2]) for p in processes)

    before = used()
    time.sleep(seconds)
    return (used() - before) / seconds * 100
