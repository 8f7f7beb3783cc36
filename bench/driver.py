"""What each query costs the driver of a cluster: its processor time and memory, with those of executors beside it.

Driver and server are one for all queries, executors are as many as one likes. So what a query costs the driver is what
bounds the number of queries. Half of the queries are filters, half are GROUP BYs; all read a topic of four partitions.
Memory is what is in use: objects that are alive after a collection, and all that is not heap. Needs jcmd of a JDK.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import psutil

from bench.beside import fed
from bench.served import serve
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.embedded.spark_cluster import SparkCluster
from tests.harness.server import Server

__all__ = ["driver"]

PARTITIONS = 4
EXECUTORS = 2
SETTLE = 30.0
"""Seconds after the last query runs; the compiler has less to do by then."""
WANTED = 1_000
"""Queries for which the cost is given."""


@dataclass(frozen=True)
class _Used:
    """Of some processes: bytes of live objects and of memory besides the heap, and threads."""

    live: int
    besides: int
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
        server = serve(stack, broker.bootstrap, spark.master, "driver_", memory="3g", spare_driver="false", **size)
        server.statements(
            "CREATE STREAM rides (k STRING KEY, v INT)"
            f" WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS={PARTITIONS});"
        )
        stack.enter_context(fed(broker.bootstrap, "rides", rate))
        found: dict[str, list[tuple[int, float, _Used]]] = {}
        made = 0
        for count in counts:
            while made < count:
                server.statements(_query(made))
                made += 1
            _wait_until_running(server, count)
            time.sleep(SETTLE)
            watched = {"driver": _drivers(server), "server": [server.pid], "executors": spark.executors}
            before = {who: _seconds(pids) for who, pids in watched.items()}
            time.sleep(seconds)
            spent = {who: _seconds(pids) - before[who] for who, pids in watched.items()}
            shown = []
            for who, pids in watched.items():
                cores, used = spent[who] / seconds, _used(pids)
                heap, besides = used.live / 1e6, used.besides / 1e6
                parts = f"{heap:.0f} MB of objects and {besides:.0f} MB besides" if heap else f"{besides:.0f} MB"
                shown.append(f"{who} {cores:.3f} processors, {parts}, {used.threads} threads")
                if who != "server":
                    found.setdefault(who, []).append((count, cores, used))
            yield f"{count} queries: {'; '.join(shown)} ({_load()})"
        yield from (_each(who, found[who]) for who in found)


def _each(who: str, found: Sequence[tuple[int, float, _Used]]) -> str:
    """What each more query costs, between the smallest and the largest number that was measured."""
    (few, first, least), (many, last, most) = found[0], found[-1]
    more = many - few
    cores = (last - first) / more
    live, besides = (most.live - least.live) / more / 1e6, (most.besides - least.besides) / more / 1e6
    threads = (most.threads - least.threads) / more
    left = WANTED - few
    return (
        f"each more query, {who}: {cores * 1000:.2f} thousandths of a processor, {live:.2f} MB of objects,"
        f" {besides:.2f} MB besides, {threads:.1f} threads; {WANTED:,} queries: {first + cores * left:.1f} processors,"
        f" {(least.live / 1e6 + live * left) / 1000:.1f} GB of objects,"
        f" {(least.besides / 1e6 + besides * left) / 1000:.1f} GB besides,"
        f" {least.threads + threads * left:,.0f} threads"
    )


def _query(number: int) -> str:
    if number % 2:
        return f"CREATE TABLE n{number} AS SELECT k, COUNT(*) AS c, SUM(v) AS s FROM rides GROUP BY k;"
    return f"CREATE STREAM f{number} AS SELECT k, v FROM rides WHERE v >= 0;"


def _drivers(server: Server) -> list[int]:
    """The JVM of the server."""
    return [p.pid for p in psutil.Process(server.pid).children(recursive=True) if "java" in p.name()]


def _seconds(pids: Sequence[int]) -> float:
    """Of processor time."""
    return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids)


def _used(pids: Sequence[int]) -> _Used:
    processes = [psutil.Process(pid) for pid in pids]
    heaps = [_heap(p.pid) if "java" in p.name() else (0, 0) for p in processes]
    return _Used(
        sum(used for used, _ in heaps),
        sum(p.memory_info().rss - held for p, (_, held) in zip(processes, heaps, strict=True)),
        sum(p.num_threads() for p in processes),
    )


def _heap(pid: int) -> tuple[int, int]:
    """Bytes that are in use after a collection, and those that the heap of a JVM has."""
    subprocess.run(["jcmd", str(pid), "GC.run"], check=True, capture_output=True)
    told = subprocess.run(["jcmd", str(pid), "GC.heap_info"], check=True, capture_output=True, text=True).stdout
    sizes = re.findall(r"(?:total|committed) (\d+)K, used (\d+)K", told)
    if not sizes:
        raise RuntimeError(f"the heap of {pid} is not described: {told}")
    return sum(int(used) for _, used in sizes) * 1024, sum(int(total) for total, _ in sizes) * 1024


def _wait_until_running(server: Server, count: int) -> None:
    end = time.monotonic() + 300
    while list(server.queries().values()).count("RUNNING") < count:
        if time.monotonic() > end:
            raise RuntimeError(f"not all {count} queries run: {server.queries()}")
        time.sleep(1)


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"
