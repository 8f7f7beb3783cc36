"""The server as a process of its own, which may be killed at any time. Needs psutil (the extra ``dev``)."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from ksqlpy.client import Client
from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.guard import Guarded
from ksqlpy.errors import KsqlError
from tests.harness.problem import HarnessProblem
from tests.support.waiting import until

__all__ = ["OUTLIVE", "Server", "free_port"]

READY = 180.0
"""Seconds that a start may take, with command log and queries, on a busy machine."""
STOP = 90.0
"""Seconds that a stop in order may take: queries end, which may mean a last checkpoint."""
JVM = 60.0
"""Seconds that a server may be without a JVM, which it lost by a kill before."""
STANDING = 600.0
"""Seconds that a standby gets until it says that it is ready: it warms up while it waits."""
_READY_TO_TAKE_OVER = "ready to take over"
OUTLIVE = 15.0
"""Seconds after which children of a killed server must be gone, and a server that has handed its service over."""


class Server:
    """``ksqlpy server`` on a free port of 127.0.0.1; ended by :meth:`end` or with this process.

    ``folder``: for its data and its output, kept between starts; ``more``: further properties. Its checkpoints lie
    where another server finds them.
    """

    def __init__(self, connection: KafkaConnection, folder: Path, more: Mapping[str, str] | None = None) -> None:
        self._bootstrap, self._folder = connection.bootstrap, folder
        self.log = folder / "server.log"
        self._child: Guarded | None = None
        self._left: list[psutil.Process] = []
        self._leaving: Guarded | None = None
        """A server that has handed its service over, until it has ended."""
        self._number = 0
        self._settings = folder / "server.properties"
        settings = {"ksqlpy.checkpoint.dir": str(folder / "checkpoints"), **connection.settings, **(more or {})}
        self._settings.touch(0o600)  # they may hold passwords
        self._settings.write_text("".join(f"{n}={v}\n" for n, v in settings.items()), encoding="utf-8")
        self._begin_another()

    def _begin_another(self) -> None:
        """The next start is that of another server: with a data folder and a port of its own."""
        self._number += 1
        self._data = self._folder / f"data-{self._number}"
        self._port = free_port()
        self._client = Client(f"http://127.0.0.1:{self._port}")

    @property
    def pid(self) -> int:
        """Process id of the server. Raises RuntimeError unless started."""
        if self._child is None:
            raise RuntimeError("the server is not started")
        return self._child.pid

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Starts the process; raises HarnessProblem ``server-not-started`` unless it takes statements in time."""
        self._launch()
        self.wait_until_ready()

    def _launch(self, *more: str) -> None:
        options = ["--port", str(self._port), "--bootstrap-servers", self._bootstrap, "--data-dir", str(self._data)]
        options += ["--config", str(self._settings), *more]
        self._child = Guarded(
            [sys.executable, "-m", "ksqlpy", "server", *options], log=self.log, cwd=self.log.parent, grace=STOP
        )

    def wait_until_ready(self) -> None:
        """Waits until it takes statements; raises HarnessProblem ``server-not-started`` unless it does in time."""
        assert self._child is not None
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
        return {q["id"]: q["state"] for q in entity["queries"] if q["queryType"] == "PERSISTENT"}

    def _not_started(self, what: str) -> HarnessProblem:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-12:]
        said = "\n".join(f"   {line}" for line in lines) or "   (nothing)"
        return HarnessProblem(
            "server-not-started", f"the server {what} at its start", hint=f"its output ends with:\n{said}"
        )

    def kill(self) -> None:
        """Kills the process itself with SIGKILL; its children see only that it is gone."""
        self._end(signal.SIGKILL)

    def kill_with_jvm(self) -> None:
        """Kills the process and Spark's JVM with SIGKILL."""
        found = drivers(psutil.Process(self.pid).children(recursive=True))
        self.kill()
        for process in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def stop(self, seconds: float = STOP) -> None:
        """Asks the process to end, and waits; raises HarnessProblem ``server-not-stopped`` when it does not."""
        self._end(signal.SIGTERM, seconds)

    def _end(self, number: signal.Signals, seconds: float = STOP) -> None:
        process = psutil.Process(self.pid)
        self._left = process.children(recursive=True)
        process.send_signal(number)
        assert self._child is not None
        child = self._child
        if not until(lambda: child.poll() is not None, seconds, every=0.02):
            raise HarnessProblem("server-not-stopped", f"the server does not end within {seconds:g} s of {number.name}")
        child.stop()
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
        leaving, self._leaving = self._leaving, None
        if leaving is not None:
            leaving.stop()
        return time.monotonic() - begin, outlived

    def kill_jvm(self) -> None:
        """Kills Spark's JVM with SIGKILL; raises HarnessProblem ``no-jvm`` when there is none for long."""
        server = psutil.Process(self.pid)
        if not (found := until(lambda: drivers(server.children(recursive=True)), JVM)):
            raise HarnessProblem("no-jvm", f"the server has had no JVM for {JVM:g} s")
        for process in found:
            os.kill(process.pid, signal.SIGKILL)
        _wait_until_gone(found, 5)

    def runners(self) -> list[psutil.Process]:
        """Spark's JVM, if it is there, in which the tasks run that have no cluster."""
        return drivers(psutil.Process(self.pid).children(recursive=True))

    def stop_jvm(self, seconds: float) -> None:
        """Stops Spark's JVM with SIGSTOP for so long, if there is one just now."""
        found = drivers(psutil.Process(self.pid).children(recursive=True))
        for process in found:
            process.suspend()
        try:
            time.sleep(seconds)
        finally:
            for process in found:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.resume()

    def stand_by(self, *, jvm: bool = False) -> Callable[[], None]:
        """Starts a standby, and waits until it has come to rest; gives what kills the active server with SIGKILL.

        ``jvm``: only its JVM, after which it must end by itself: :meth:`wait_for_children`. After that the standby is
        this server: :meth:`wait_until_ready`. Raises as :meth:`start`.
        """
        child, client, active = self._child, self._client, psutil.Process(self.pid)
        assert child is not None
        self._begin_another()
        said = self.log.stat().st_size
        self._launch("--standby")
        self._wait_until_standing_by(said)

        def kill() -> None:
            self._left = active.children(recursive=True)
            if jvm:
                for process in jvms(self._left):
                    process.kill()
                self._left.append(active)
                self._leaving = child
            else:
                active.kill()
                child.stop()
            client.close()

        return kill

    def _wait_until_standing_by(self, said: int) -> None:
        """Waits until a standby says that it is ready; ``said``: bytes of the log that are older."""
        assert self._child is not None
        deadline = time.monotonic() + STANDING
        while _READY_TO_TAKE_OVER not in self.log.read_bytes()[said:].decode(errors="replace"):
            if self._child.poll() is not None:
                raise self._not_started("ended")
            if time.monotonic() > deadline:
                raise self._not_started(f"was not ready to take over within {STANDING:g} s")
            time.sleep(0.5)

    def be_taken_over(self, seconds: float, *, jvm: bool) -> list[str]:
        """Stops the server with SIGSTOP, and its JVM if ``jvm``; another one takes its service; then it goes on.

        For so many seconds both are there; the first must take no statement then. It is killed in the end. Gives what
        must not be. Raises as :meth:`start`.
        """
        child, client = self._child, self._client
        frozen = [psutil.Process(self.pid)]
        if jvm:
            frozen += jvms(frozen[0].children(recursive=True))
        for process in frozen:
            process.send_signal(signal.SIGSTOP)
        problems: list[str] = []
        try:
            self._begin_another()
            self._child = None
            self.start()
            self._wait_for_queries()
        finally:
            for process in reversed(frozen):
                process.send_signal(signal.SIGCONT)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and _runs(frozen[0]):
            try:
                client.statements("CREATE STREAM written_by_both (a INT) WITH (KAFKA_TOPIC='both', PARTITIONS=1,"
                                  " VALUE_FORMAT='JSON');")  # fmt: skip
                problems.append("the server that lost its service took a statement")
            except KsqlError:
                time.sleep(0.5)
        client.close()
        assert child is not None
        child.stop()
        return problems

    def _wait_for_queries(self) -> None:
        """Waits until all queries run, at most as long as a start may take: only then two could write at once."""
        until(lambda: set(self.queries().values()) == {"RUNNING"}, READY, every=0.2)
        time.sleep(1)

    def leave_jvm_behind(self, seconds: float) -> list[str]:
        """Stops the JVM with SIGSTOP and kills the server; it is started again; then the JVM of before goes on.

        It is killed after so many seconds, if it has not seen by itself that its server is gone. Gives what must not
        be. Raises as :meth:`start`.
        """
        left = jvms(psutil.Process(self.pid).children(recursive=True))
        for process in left:
            process.send_signal(signal.SIGSTOP)
        try:
            self._end(signal.SIGKILL)
            self.start()
            self._wait_for_queries()
        finally:
            for process in left:
                process.send_signal(signal.SIGCONT)
        outlived = _wait_until_gone(left, seconds)
        for process in outlived:
            process.kill()
        return [f"the JVM {p.pid} outlived its server" for p in outlived]

    def end(self) -> None:
        """Ends the server if it runs; raises nothing for one that does not end in order."""
        child, self._child = self._child, None
        if child is not None:
            child.stop()

    def close(self) -> None:
        """As :meth:`end`, and gives the connections back."""
        self.end()
        self._client.close()


def drivers(children: Sequence[psutil.Process]) -> list[psutil.Process]:
    """The oldest Java among the processes: a spare is younger than the driver that it is there for."""
    return sorted(jvms(children), key=lambda c: c.create_time())[:1]


def jvms(children: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Those of the processes that are Java."""
    return [c for c in children if _name(c) == "java"]


def _wait_until_gone(processes: Sequence[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Waits for the processes to end; gives those that still run after that time."""
    until(lambda: not any(map(_runs, processes)), seconds, every=0.02)
    return [p for p in processes if _runs(p)]


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
