"""A standalone cluster of Spark on this machine: a Master and Workers, each a process that ends with this one.

For trying things out and for tests. The executors share the files and the loopback address of this machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from ksqlpy.embedded.guard import Guarded
from ksqlpy.embedded.java import find_java
from ksqlpy.embedded.spark_home import spark_home
from ksqlpy.errors import EnvironmentProblem

__all__ = ["SparkCluster"]

_HOST = "127.0.0.1"
_READY = 60.0
"""Seconds that Master or a Worker may take to start."""

_GRACE = 5.0
_HEAP = "256m"
_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Of Master and Workers, which have little to do: their optimizing compiler took a second from executors that start."""

_MASTER = re.compile(r"Starting Spark master at (spark://[\d.]+:\d+)")
_EXECUTOR = "CoarseGrainedExecutorBackend"
_WORKER = "Successfully registered with master"


class SparkCluster:
    """Started by :meth:`start` or ``with``, ended by :meth:`stop` or with this process.

    ``workers``: how many; ``slots``: tasks that each runs at once; ``memory``: for its executors, such as ``2g``.
    ``folder``: for logs and the workers' files; None takes a temporary one that goes with the cluster.
    ``secret``: who does not know it gets no executors; empty: whoever reaches the loopback address does.
    """

    def __init__(
        self, workers: int = 2, slots: int = 64, memory: str = "2g", folder: Path | None = None, secret: str = ""
    ) -> None:
        self._workers, self._slots, self._memory, self._secret = workers, slots, memory, secret
        self._wanted_folder = folder
        self._folder = Path()
        self._master: Guarded | None = None
        self._children: dict[int, Guarded] = {}
        self.master = ""
        """The address for ``ksqlpy.spark.master``."""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    @property
    def workers(self) -> dict[int, int]:
        """The process ids of the workers that were started, by their numbers from 1."""
        return {number: child.pid for number, child in self._children.items()}

    @property
    def executors(self) -> list[int]:
        """The process ids of the executors that run on the workers now."""
        workers = set(self.workers.values())
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True)
        rows = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
        return [int(pid) for pid, parent, what in rows if int(parent) in workers and _EXECUTOR in what]

    def host(self, number: int) -> str:
        """The address of a worker, or of the Master, whose number is 0."""
        return _HOST

    def ahead(self, number: int) -> Sequence[str]:
        """What stands ahead of the command that starts it."""
        return ()

    def start(self) -> Self:
        """Starts the Master, then the Workers side by side. Raises EnvironmentProblem ``spark-not-started``."""
        self._folder = self._wanted_folder or Path(tempfile.mkdtemp(prefix="ksqlpy-spark-"))
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            log = self._folder / "master.log"
            self._master = self._run("Master", 0, ["--port", "0"], log)
            self.master = self._wait(self._master, log, "master", _MASTER)
            begun = {number: self._begin_worker(number) for number in range(1, self._workers + 1)}
            for number, log in begun.items():
                self._wait(self._children[number], log, f"worker {number}", re.compile(f"({_WORKER})"))
        except BaseException:
            self.stop()
            raise
        return self

    def start_worker(self, number: int) -> None:
        """Starts a worker again that was killed, or one more. Raises EnvironmentProblem ``spark-not-started``."""
        if (old := self._children.pop(number, None)) is not None:
            old.stop()
        log = self._begin_worker(number)
        self._wait(self._children[number], log, f"worker {number}", re.compile(f"({_WORKER})"))

    def stop(self) -> None:
        """Ends all of it."""
        for child in self._children.values():
            child.stop()
        self._children = {}
        if self._master is not None:
            self._master.stop()
            self._master = None
        if self._wanted_folder is None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _begin_worker(self, number: int) -> Path:
        log = self._folder / f"worker-{number}.log"
        log.unlink(missing_ok=True)
        own = self._folder / f"worker-{number}"
        options = ["--cores", str(self._slots), "--memory", self._memory, "--work-dir", str(own), self.master]
        self._children[number] = self._run("Worker", number, options, log)
        return log

    def _run(self, what: str, number: int, options: list[str], log: Path) -> Guarded:
        home, java = spark_home(), find_java()
        env = {
            **java.environ(),
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": self.host(number),
            "SPARK_DAEMON_MEMORY": _HEAP,
            "SPARK_DAEMON_JAVA_OPTS": _OPTIONS,
        }
        command = [
            *self.ahead(number),
            str(home / "bin" / "spark-class"),
            f"org.apache.spark.deploy.{what.lower()}.{what}",
        ]
        command += ["--host", self.host(number), "--webui-port", "0", *self._login(), *options]
        return Guarded(command, log=log, env=env, cwd=self._folder, grace=_GRACE)

    def _login(self) -> list[str]:
        """The options that name the file with the secret, which no command line shows."""
        if not self._secret:
            return []
        file = self._folder / "spark.conf"
        file.touch(0o600)
        file.write_text(f"spark.authenticate true\nspark.authenticate.secret {self._secret}\n", encoding="utf-8")
        return ["--properties-file", str(file)]

    def _wait(self, child: Guarded, log: Path, what: str, wanted: re.Pattern[str]) -> str:
        end = time.monotonic() + _READY
        while time.monotonic() < end:
            text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
            if (found := wanted.search(text)) is not None:
                return found[1]
            if child.poll() is not None:
                break
            time.sleep(0.05)
        said = os.linesep.join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-8:])
        raise EnvironmentProblem(
            "spark-not-started", f"the {what} of a Spark cluster did not start", hint=f"its log ends with:\n{said}"
        )
