"""The demo on a cluster: a Spark master, workers and brokers, all on this machine; an executor is killed."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from typing import Self

from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.embedded.spark_cluster import SparkCluster

__all__ = ["BROKERS", "WORKERS", "DemoCluster"]

WORKERS, BROKERS = 3, 3
SLOTS = 16
"""Tasks that each worker runs at once."""

_REPLICATED = {
    "default.replication.factor": str(BROKERS),
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": str(BROKERS),
    "group.initial.rebalance.delay.ms": "0",
}


class DemoCluster:
    """A context manager. ``say``: told what is being started. ``killed``: the process id of the executor that died."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._stack = contextlib.ExitStack()
        self._spark = SparkCluster(WORKERS, SLOTS, "1g")
        self._bootstrap: list[str] = []
        self.killed: int | None = None

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            self._say(f"starting {BROKERS} Kafka brokers")
            first = stack.enter_context(EmbeddedKafka(settings=_REPLICATED))
            others = [EmbeddedKafka(settings=_REPLICATED, node=n, joins=first) for n in range(2, BROKERS + 1)]
            self._bootstrap = [b.bootstrap for b in (first, *(stack.enter_context(o) for o in others))]
            self._say(f"starting a Spark master and {WORKERS} workers")
            stack.enter_context(self._spark)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @property
    def properties(self) -> dict[str, str]:
        """Those of a server that runs on it, with an executor on each worker."""
        return {
            "bootstrap.servers": ",".join(self._bootstrap),
            "ksqlpy.spark.master": self._spark.master,
            "ksqlpy.spark.conf.spark.executor.memory": "700m",
            "ksqlpy.spark.conf.spark.executor.cores": str(SLOTS),
        }

    def kill_executor(self) -> None:
        """Kills one executor with SIGKILL, the first time that it is called."""
        if self.killed is None and (running := self._spark.executors):
            self.killed = running[0]
            os.kill(self.killed, signal.SIGKILL)
