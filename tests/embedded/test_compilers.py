"""A JVM's optimizing compiler is held back while the JVM starts, and not for longer."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pyspark
import pytest

from ksqlpy.embedded import compilers
from ksqlpy.embedded.compilers import hold_optimizer_back, optimizer_held_back
from ksqlpy.embedded.java import find_java
from tests.support.waiting import until

if sys.platform != "linux":  # elsewhere there is neither /proc nor SCHED_IDLE, and the code does nothing
    pytest.skip("only Linux schedules threads like that", allow_module_level=True)

pytestmark = pytest.mark.java

PATIENCE = 30.0
OPTIMIZER = "C2 CompilerThre"


@contextmanager
def jvm() -> Iterator[int]:
    """A JVM with both compilers that waits for its standard input to end."""
    [py4j] = (Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")
    command = [str(find_java().executable), "-cp", str(py4j), "py4j.GatewayServer", "--die-on-broken-pipe", "0"]
    environ = {name: value for name, value in os.environ.items() if name != "JAVA_TOOL_OPTIONS"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def policies(pid: int) -> dict[str, set[int]]:
    """The scheduling of a process's threads, by their names."""
    found: dict[str, set[int]] = {}
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # one that has just ended
            name = (thread / "comm").read_text().strip()
            found.setdefault(name, set()).add(os.sched_getscheduler(int(thread.name)))
    return found


def optimizer_of(pid: int) -> set[int]:
    return policies(pid).get(OPTIMIZER, set())


def test_it_waits_for_idle_cores_and_then_runs_as_all_threads_do() -> None:
    if not compilers._can_undo():  # then the code does nothing either, see the next test
        pytest.skip("this process may not give a thread its priority back")
    with ExitStack() as stack:
        other = stack.enter_context(jvm())
        assert until(lambda: optimizer_of(other) != set(), PATIENCE)
        with optimizer_held_back(1.0):
            pid = stack.enter_context(jvm())
            assert until(lambda: optimizer_of(pid) == {os.SCHED_IDLE}, PATIENCE)
            others = policies(pid)
            del others[OPTIMIZER]
            assert "C1 CompilerThre" in others
            assert set.union(*others.values()) == {os.SCHED_OTHER}
            assert optimizer_of(other) == {os.SCHED_OTHER}  # was there before
        assert until(lambda: optimizer_of(pid) == {os.SCHED_OTHER}, PATIENCE)


def test_nothing_is_held_back_that_could_not_be_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilers, "_can_undo", lambda: False)
    with optimizer_held_back(60.0), jvm() as pid:
        assert until(lambda: optimizer_of(pid) != set(), PATIENCE)
        time.sleep(3 * compilers._LOOK)
        assert optimizer_of(pid) == {os.SCHED_OTHER}


def test_it_can_be_held_back_in_a_jvm_that_runs() -> None:
    if not compilers._can_undo():
        pytest.skip("this process may not give a thread its priority back")
    with jvm() as pid:
        assert until(lambda: optimizer_of(pid) == {os.SCHED_OTHER}, PATIENCE)
        hold_optimizer_back(pid, 1.0)
        assert optimizer_of(pid) == {os.SCHED_IDLE}
        assert until(lambda: optimizer_of(pid) == {os.SCHED_OTHER}, PATIENCE)
