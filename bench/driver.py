"""What each query costs the driver of a cluster: its processor time and memory, with those of executors beside it.

Driver and server are one for all queries, executors are as many as one likes. So what a query costs the driver is what
bounds the number of queries. Half of the queries are filters, half are GROUP BYs; all read a topic of four partitions.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import psutil
from confluent_kafka import Producer

from bench.served import serve
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.embedded.spark_cluster import SparkCluster
from ksqlpy.testing.chaos.server import Server

__all__ = ["driver"]

PARTITIONS = 4
EXECUTORS = 2
SETTLE = 30.0
"""Seconds after the last query runs; the compiler has less to do by then."""
WANTED = 1_000
"""Queries for which the cost is given."""


@dataclass(frozen=True)
class _Used:
    """Of some processes: seconds of processor time, bytes of memory, threads."""

    seconds: float
    memory: int
    threads: int


def driver(counts: Sequence[int], rate: int, seconds: float) -> Iterator[str]:
    """The lines of the table: one for each number of queries, which grows, then what each more query costs.

    ``rate``: records a second of the topic, which each query reads; ``seconds``: for which each number is measured,
    some checkpoints long.
    """
    with ExitStack() as stack:
        broker = stack.enter_context(EmbeddedKafka())
        spark = stack.enter_context(SparkCluster(EXECUTORS, 1024, "3g"))
        size = {"conf_spark_executor_memory": "2g", "conf_spark_executor_cores": "1024"}
        server = serve(stack, broker.bootstrap, spark.master, "driver_", memory="3g", **size)
        server.statements(
            "CREATE STREAM rides (k STRING KEY, v INT)"
            f" WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS={PARTITIONS});"
        )
        stack.enter_context(_flow(broker.bootstrap, rate))
        found: list[tuple[int, float, _Used]] = []
        made = 0
        for count in counts:
            while made < count:
                server.statements(_query(made))
                made += 1
            _wait_until_running(server, count)
            time.sleep(SETTLE)
            watched = {"driver": _drivers(server), "server": [server.pid], "an executor": spark.executors}
            before = {who: _used(pids) for who, pids in watched.items()}
            time.sleep(seconds)
            after = {who: _used(pids) for who, pids in watched.items()}
            shown = []
            for who, used in after.items():
                each = len(watched[who])
                cores = (used.seconds - before[who].seconds) / seconds / each
                shown.append(f"{who} {cores:.3f} processors, {used.memory / each / 1e6:.0f} MB")
                if who == "driver":
                    found.append((count, cores, used))
            yield f"{count} queries: {'; '.join(shown)}; {after['driver'].threads} threads of the driver ({_load()})"
        (few, first, least), (many, last, most) = found[0], found[-1]
        cores = (last - first) / (many - few)
        memory = (most.memory - least.memory) / (many - few) / 1e6
        threads = (most.threads - least.threads) / (many - few)
        yield (
            f"each more query: driver {cores * 1000:.2f} thousandths of a processor, {memory:.1f} MB, {threads:.1f}"
            f" threads; {WANTED:,} queries: {first + cores * (WANTED - few):.1f} processors,"
            f" {(least.memory / 1e6 + memory * (WANTED - few)) / 1000:.1f} GB"
        )


def _query(number: int) -> str:
    if number % 2:
        return f"CREATE TABLE n{number} AS SELECT k, COUNT(*) AS c, SUM(v) AS s FROM rides GROUP BY k;"
    return f"CREATE STREAM f{number} AS SELECT k, v FROM rides WHERE v >= 0;"


def _drivers(server: Server) -> list[int]:
    """The JVM of the server."""
    return [p.pid for p in psutil.Process(server.pid).children(recursive=True) if "java" in p.name()]


def _used(pids: Sequence[int]) -> _Used:
    processes = [psutil.Process(pid) for pid in pids]
    return _Used(
        sum(sum(p.cpu_times()[:2]) for p in processes),
        sum(p.memory_info().rss for p in processes),
        sum(p.num_threads() for p in processes),
    )


def _wait_until_running(server: Server, count: int) -> None:
    end = time.monotonic() + 300
    while list(server.queries().values()).count("RUNNING") < count:
        if time.monotonic() > end:
            raise RuntimeError(f"not all {count} queries run: {server.queries()}")
        time.sleep(1)


@contextmanager
def _flow(bootstrap: str, rate: int) -> Iterator[None]:
    """Records of the topic, at an even rate."""
    producer, ended = Producer({"bootstrap.servers": bootstrap}), threading.Event()

    def run() -> None:
        number = 0
        while not ended.wait(1 / rate):
            producer.produce("rides", key=b"k%d" % (number % 50), value=b'{"V":%d}' % number)
            producer.poll(0)
            number += 1

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        producer.flush(5)


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"
