"""The Spark cluster of a run: what can be killed of it. Needs psutil (the extra ``dev``)."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

import psutil

from ksqlpy.embedded.spark_cluster import SparkCluster
from tests.chaos.networks import Networks
from tests.harness.problem import HarnessProblem
from tests.support.waiting import until

__all__ = ["SLOTS", "Cluster"]

SLOTS = 64
"""Tasks that each executor runs at once. A worker has room for two: one of the active server, one of its standby."""

_THERE = 60.0
"""Seconds that the executors of a server may take to come, after a kill."""


class Cluster(SparkCluster):
    """A cluster of which executors and workers are chosen at random: by ``seed``, so that a run can be repeated.

    ``folder``: for logs and the workers' files. ``networks``: each worker is in a network of its own, as on a machine
    of its own; None: all are at 127.0.0.1.
    """

    def __init__(self, workers: int, seed: int, folder: Path, networks: Networks | None = None) -> None:
        super().__init__(workers, 2 * SLOTS, "2g", folder)
        self._cores = workers * SLOTS
        self._random = Random(f"cluster {seed}")
        self._networks = networks

    def host(self, number: int) -> str:
        if self._networks is None:
            return super().host(number)
        return self._networks.address(number) if number else self._networks.driver

    def ahead(self, number: int) -> Sequence[str]:
        return self._networks.command(number) if self._networks is not None and number else ()

    def settings(self, checkpoints: Path) -> dict[str, str]:
        """Properties of a server that runs on it, with an executor on each worker; ``checkpoints``: a folder for them.

        Workers in networks of their own reach the folder by a URI, as they would that of a distributed file system.
        """
        found = {
            "ksqlpy.spark.master": self.master,
            "ksqlpy.spark.conf.spark.executor.memory": "1g",
            "ksqlpy.spark.conf.spark.executor.cores": str(SLOTS),
            "ksqlpy.spark.conf.spark.cores.max": str(self._cores),
        }
        if self._networks is None:
            return found
        checkpoints.mkdir(parents=True, exist_ok=True)
        link = "ksqlpy.spark.conf.spark.hadoop.fs.viewfs.mounttable.chaos.link./checkpoints"
        return {
            **found,
            "ksqlpy.spark.conf.spark.driver.host": self._networks.driver,
            "ksqlpy.spark.conf.spark.driver.bindAddress": self._networks.driver,
            "ksqlpy.checkpoint.dir": "viewfs://chaos/checkpoints",
            link: checkpoints.absolute().as_uri(),
        }

    def cut_off(self, seconds: float, *, brokers: bool) -> None:
        """Cuts a worker off from driver and Master for so many seconds; ``brokers``: from all else, too."""
        if self._networks is None:
            raise HarnessProblem("no-networks", "the workers have no networks of their own")
        number = self._random.choice(sorted(self.workers))
        self._networks.cut(number, brokers=brokers)
        try:
            time.sleep(seconds)
        finally:
            self._networks.mend(number, brokers=brokers)

    def runners(self) -> list[psutil.Process]:
        """The executors that there are."""
        found = []
        for pid in self.executors:
            with contextlib.suppress(psutil.NoSuchProcess):
                found.append(psutil.Process(pid))
        return found

    def kill_executor(self) -> None:
        """Kills one with SIGKILL. Raises HarnessProblem ``no-jvm`` where there is none for long."""
        self._executor().kill()

    def wait_until_gone(self, executors: Sequence[int], seconds: float) -> None:
        """Waits until these executors have ended, for so many seconds at most."""
        until(lambda: not set(executors) & set(self.executors), seconds)

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
        raise HarnessProblem("no-jvm", f"the server has had no executor for {_THERE:g} s")
