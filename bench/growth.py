"""How the throughput of a query grows with executors: each gets the same small share of a processor, by a cgroup.

So 1, 2 and 4 executors have once, twice and four times as much, on a machine of two cores, while driver and broker have
the rest. The shares are cut only when the code of all executors is optimized: within such a share the compiler would
need minutes. The rate is that from the first result to the last one, not that of the second half: with so small a share
the producers hold results, each in a buffer of 32 MB, and send most of them late. Needs root and cgroups of version 1
with the controller cpu.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import psutil

from bench.cluster import fill, flow
from bench.results import Results
from bench.served import serve
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.embedded.spark_cluster import SparkCluster

__all__ = ["growth"]

SHARE = 0.25
"""Of a processor, for each executor."""

KEYS = 1000
"""The number of different keys, which records have in turn: so many groups there are."""

WARM = 3
"""So many flows for each executor before its share is cut: one alone is as quick after two as after thirteen."""
SETTLE = 5.0
"""Seconds without load before the shares are cut: what waits for the compiler gets compiled."""

_CPU = Path("/sys/fs/cgroup/cpu")
_PERIOD = 20_000  # µs: short, so that waits for the next one do not look like latency of Spark


def growth(records: int, rounds: int, partitions: int = 8, executors: tuple[int, ...] = (1, 2, 4)) -> Iterator[str]:
    """The lines of the table; raises RuntimeError where there are no such cgroups."""
    if not os.access(_CPU, os.W_OK):
        raise RuntimeError(f"{_CPU} cannot be written: growth needs root and cgroups of version 1")
    first = 0.0
    slots = max(64, 2 * partitions + 16)
    with EmbeddedKafka() as broker:
        made = False
        for count in executors:
            with SparkCluster(count, slots, "2g") as spark, contextlib.ExitStack() as stack:
                size = {"conf_spark_executor_memory": "1500m", "conf_spark_executor_cores": str(slots)}
                server = serve(stack, broker.bootstrap, spark.master, f"growth{count}_", spare_driver="false", **size)
                server.statements(
                    "CREATE STREAM backlog (k STRING KEY, v INT, t DOUBLE)"
                    f" WITH (KAFKA_TOPIC='backlog', VALUE_FORMAT='JSON', PARTITIONS={partitions});"
                )
                if not made:
                    fill(broker.bootstrap, "backlog", records, KEYS)
                    made = True
                once = partial(flow, server, broker.bootstrap, "backlog", records=records)
                warm = _warmed(once, count)
                for pid in spark.executors:
                    stack.callback(_release, _limited(pid))
                rates, used = [], []
                for number in range(rounds):
                    before, began = _processor(spark.executors), time.monotonic()
                    rates.append(once(name=f"out{count}_{number}").flow)
                    used.append((_processor(spark.executors) - before) / (time.monotonic() - began))
                rate = statistics.median(rates)
                first = first or rate
                yield (
                    f"{count} executors of {SHARE} processors: {rate:,.0f} results/s, {rate / first:.2f} of one"
                    f" (median of {', '.join(f'{r:,.0f}' for r in rates)}; they used"
                    f" {statistics.median(used):.2f} processors; before the cut {', '.join(f'{r:,.0f}' for r in warm)})"
                )


def _warmed(once: Callable[..., Results], executors: int) -> list[float]:
    """The rates of the flows that warm so many executors up."""
    rates = [once(name=f"warm{executors}_{number}").flow for number in range(WARM * executors)]
    time.sleep(SETTLE)
    return rates


def _processor(pids: Sequence[int]) -> float:
    """Seconds of processor time that processes have used."""
    return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids)


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
