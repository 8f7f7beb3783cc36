"""The Spark cluster of a run: what can be killed of it. Needs psutil (the extra ``dev``)."""

from __future__ import annotations

import contextlib
import signal
import time
from random import Random

import psutil

from ksqlpy.embedded.spark_cluster import SparkCluster
from ksqlpy.errors import EnvironmentProblem

__all__ = ["SLOTS", "Cluster"]

SLOTS = 64
"""Tasks that each worker runs at once."""

_THERE = 60.0
"""Seconds that the executors of a server may take to come, after a kill."""


class Cluster(SparkCluster):
    """A cluster of which executors and workers are chosen at random: by ``seed``, so that a run can be repeated."""

    def __init__(self, workers: int, seed: int) -> None:
        super().__init__(workers, SLOTS, "2g")
        self._random = Random(f"cluster {seed}")

    @property
    def settings(self) -> dict[str, str]:
        """Properties of a server that runs on it, with an executor on each worker."""
        return {
            "ksqlpy.spark.master": self.master,
            "ksqlpy.spark.conf.spark.executor.memory": "1g",
            "ksqlpy.spark.conf.spark.executor.cores": str(SLOTS),
        }

    def kill_executor(self) -> None:
        """Kills one with SIGKILL. Raises EnvironmentProblem ``no-jvm`` where there is none for long."""
        self._executor().kill()

    def freeze_executor(self, seconds: float) -> None:
        """Stops one with SIGSTOP, which goes on after so many seconds, if it is still there."""
        executor = self._executor()
        executor.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        try:
            executor.send_signal(signal.SIGCONT)
        except psutil.NoSuchProcess:
            return

    def kill_worker(self, seconds: float) -> None:
        """Kills a worker with SIGKILL, whose executors end with it; it is started again after so many seconds."""
        number = self._random.choice(sorted(self.workers))
        psutil.Process(self.workers[number]).kill()
        time.sleep(seconds)
        self.start_worker(number)

    def _executor(self) -> psutil.Process:
        end = time.monotonic() + _THERE
        while time.monotonic() < end:
            with contextlib.suppress(psutil.NoSuchProcess):
                if found := sorted(self.executors):
                    return psutil.Process(self._random.choice(found))
            time.sleep(0.2)
        raise EnvironmentProblem("no-jvm", f"the server has had no executor for {_THERE:g} s")
