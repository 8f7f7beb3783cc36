"""The server as a process of its own, which may be killed at any time. Needs psutil (the extra ``dev``)."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from ksqlpy.client import Client
from ksqlpy.embedded.guard import Guarded
from ksqlpy.errors import EnvironmentProblem, KsqlError

__all__ = ["Server", "free_port"]

READY = 180.0
"""Seconds that a start may take, with command log and queries, on a busy machine."""
STOP = 90.0
"""Seconds that a stop in order may take: queries end, which may mean a last checkpoint."""
JVM = 60.0
"""Seconds that a server may be without a JVM, which it lost by a kill before."""
OUTLIVE = 15.0
"""Seconds after which children of a killed server must be gone."""


class Server:
    """``ksqlpy server`` on a free port of 127.0.0.1; ended by :meth:`end` or with this process.

    ``folder``: for its data and its output, kept between starts.
    """

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self._bootstrap = bootstrap
        self._data = folder / "data"
        self.log = folder / "server.log"
        self._port = free_port()
        self._child: Guarded | None = None
        self._left: list[psutil.Process] = []
        self._client = Client(f"http://127.0.0.1:{self._port}")

    @property
    def pid(self) -> int:
        """Process id of the server. Raises RuntimeError unless started."""
        if self._child is None:
            raise RuntimeError("the server is not started")
        return self._child.pid

    def start(self) -> None:
        """Starts the process; raises EnvironmentProblem ``server-not-started`` unless it takes statements in time."""
        options = ["--port", str(self._port), "--bootstrap-servers", self._bootstrap, "--data-dir", str(self._data)]
        self._child = Guarded(
            [sys.executable, "-m", "ksqlpy", "server", *options], log=self.log, cwd=self.log.parent, grace=STOP
        )
        deadline = time.monotonic() + READY
        while not self._is_ready():
            if self._child.poll() is not None:
                raise self._not_started("ended")
            if time.monotonic() > deadline:
                raise self._not_started(f"took no statements within {READY:g} s")
            time.sleep(0.1)

    def _is_ready(self) -> bool:
        try:
            self._client.info()
        except KsqlError:
            return False
        return True

    def statements(self, sql: str, patience: float = 0.0) -> list[dict[str, Any]]:
        """Runs statements and gives their entities; raises as :class:`~ksqlpy.client.Client` does.

        ``patience``: seconds for which a server that cannot do it now is asked again.
        """
        deadline = time.monotonic() + patience
        while True:
            try:
                return self._client.statements(sql)
            except KsqlError as e:
                if e.error_code < 50000 or time.monotonic() > deadline:
                    raise
            time.sleep(0.5)

    def queries(self) -> dict[str, str]:
        """The states of all persistent queries by their ids; raises as :meth:`statements`."""
        (entity,) = self.statements("SHOW QUERIES;")
        return {q["id"]: q["state"] for q in entity["queries"]}

    def _not_started(self, what: str) -> EnvironmentProblem:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-12:]
        said = "\n".join(f"   {line}" for line in lines) or "   (nothing)"
        return EnvironmentProblem(
            "server-not-started", f"the server {what} at its start", hint=f"its output ends with:\n{said}"
        )

    def kill(self) -> None:
        """Kills the process itself with SIGKILL; its children see only that it is gone."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Asks the process to end, and waits; raises EnvironmentProblem ``server-not-stopped`` when it does not."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        process = psutil.Process(self.pid)
        self._left = process.children(recursive=True)
        process.send_signal(number)
        assert self._child is not None
        deadline = time.monotonic() + STOP
        while self._child.poll() is None:
            if time.monotonic() > deadline:
                raise EnvironmentProblem(
                    "server-not-stopped", f"the server does not end within {STOP:g} s of {number.name}"
                )
            time.sleep(0.02)
        self._child.stop()
        self._child = None

    def wait_for_children(self) -> tuple[float, list[str]]:
        """Waits until the children of the ended server are gone; gives the seconds, and those that had to be killed."""
        begin = time.monotonic()
        outlived = []
        for child in _wait_until_gone(self._left, OUTLIVE):
            outlived.append(f"process {child.pid} ({_name(child)})")
            try:
                child.kill()
            except psutil.NoSuchProcess:
                outlived.pop()
        self._left = []
        return time.monotonic() - begin, outlived

    def kill_jvm(self) -> None:
        """Kills Spark's JVM with SIGKILL; raises EnvironmentProblem ``no-jvm`` when there is none for long."""
        server = psutil.Process(self.pid)
        deadline = time.monotonic() + JVM
        while not (found := jvms(server.children(recursive=True))):
            if time.monotonic() > deadline:
                raise EnvironmentProblem("no-jvm", f"the server has had no JVM for {JVM:g} s")
            time.sleep(0.1)
        for process in found:
            os.kill(process.pid, signal.SIGKILL)
        _wait_until_gone(found, 5)

    def end(self) -> None:
        """Ends the server if it runs; raises nothing for one that does not end in order."""
        child, self._child = self._child, None
        if child is not None:
            child.stop()

    def close(self) -> None:
        """As :meth:`end`, and gives the connections back."""
        self.end()
        self._client.close()


def jvms(children: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Those of the processes that are Java."""
    return [c for c in children if _name(c) == "java"]


def _wait_until_gone(processes: Sequence[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Waits for the processes to end; gives those that still run after that time."""
    deadline = time.monotonic() + seconds
    while (left := [p for p in processes if _runs(p)]) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def _runs(process: psutil.Process) -> bool:
    """Whether the process runs: one that has ended, but whose parent has not asked for its status, does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return ""


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port
