"""How the throughput of a query grows with executors: each gets the same small share of a processor, by a cgroup.

So 1, 2 and 4 executors have once, twice and four times as much, on a machine of two cores, while driver and broker have
the rest. Needs root and cgroups of version 1 with the controller cpu.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from bench.cluster import KEYS, flow
from bench.jobs import bulk_producer, send
from bench.served import serve
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.embedded.spark_cluster import SparkCluster

__all__ = ["growth"]

SHARE = 0.25
"""Of a processor, for each executor."""

SETTLE = 10.0
"""Seconds in which the compiler gets done what it has to do: with so little of a processor it would take a minute."""

_CPU = Path("/sys/fs/cgroup/cpu")
_PERIOD = 20_000  # µs: short, so that waits for the next one do not look like latency of Spark


def growth(records: int, executors: tuple[int, ...] = (1, 2, 4), partitions: int = 8) -> Iterator[str]:
    """The lines of the table; raises RuntimeError where there are no such cgroups."""
    if not os.access(_CPU, os.W_OK):
        raise RuntimeError(f"{_CPU} cannot be written: growth needs root and cgroups of version 1")
    first = 0.0
    with EmbeddedKafka() as broker:
        producer = bulk_producer(broker.bootstrap)
        made = False
        for count in executors:
            with SparkCluster(count, 64, "2g") as spark, contextlib.ExitStack() as stack:
                size = {"conf_spark_executor_memory": "1g", "conf_spark_executor_cores": "64"}
                server = serve(stack, broker.bootstrap, spark.master, f"growth{count}_", **size)
                server.statements(
                    "CREATE STREAM backlog (k STRING KEY, v INT, t DOUBLE)"
                    f" WITH (KAFKA_TOPIC='backlog', VALUE_FORMAT='JSON', PARTITIONS={partitions});"
                )
                if not made:
                    for n in range(records):
                        send(producer, "backlog", b"k%d" % (n % (KEYS * 20)), b'{"V":%d,"T":0.0}' % n)
                    producer.flush()
                    made = True
                for number in range(count):  # each executor has as much to get warm by
                    flow(server, broker.bootstrap, "backlog", f"warm{count}_{number}", records)
                time.sleep(SETTLE)
                for pid in spark.executors:
                    stack.callback(_release, _limited(pid))
                began = time.monotonic()
                came = flow(server, broker.bootstrap, "backlog", f"out{count}", records)
                first = first or came
                yield (
                    f"{count} executors of {SHARE} processors: {came:,.0f} results/s, {came / first:.2f} of one"
                    f" ({time.monotonic() - began:.0f} s)"
                )


def _limited(pid: int) -> Path:
    group = _CPU / f"ksqlpy-{pid}"
    group.mkdir()
    (group / "cpu.cfs_period_us").write_text(str(_PERIOD))
    (group / "cpu.cfs_quota_us").write_text(str(int(_PERIOD * SHARE)))
    (group / "cgroup.procs").write_text(str(pid))
    return group


def _release(group: Path) -> None:
    """Its processes go back to the group above, so that it can go."""
    for pid in (group / "cgroup.procs").read_text().split():
        with contextlib.suppress(OSError):
            (_CPU / "cgroup.procs").write_text(pid)
    with contextlib.suppress(OSError):
        group.rmdir()
