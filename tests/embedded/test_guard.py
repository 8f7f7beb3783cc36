"""The guard ends its command in every case, in order where that is possible."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from ksqlpy.embedded.guard import Guarded
from tests.support.waiting import until


def wait_for(text: str, log: Path) -> None:
    assert until(lambda: text in log.read_text(), every=0.02), log.read_text()


def test_status_and_output(tmp_path: Path) -> None:
    log = tmp_path / "log"
    child = Guarded(["sh", "-c", "echo out; echo err >&2; exit 3"], log=log)
    assert child.stop() in (3, 143)
    child = Guarded(["sh", "-c", "echo out; echo err >&2; exit 3"], log=log)
    wait_for("err", log)
    until(lambda: child.poll() is not None, every=0.02)
    assert child.poll() == child.stop() == 3


def test_orderly_end_first(tmp_path: Path) -> None:
    log, scratch = tmp_path / "log", tmp_path / "scratch"
    scratch.mkdir()
    child = Guarded(
        ["sh", "-c", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"], log=log, remove=[scratch]
    )
    wait_for("up", log)
    assert child.stop() == 0
    assert "bye" in log.read_text()
    assert not scratch.exists()


def test_force_after_the_grace_time(tmp_path: Path) -> None:
    log = tmp_path / "log"
    child = Guarded(["sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.05; done"], log=log, grace=0.3)
    wait_for("up", log)
    assert child.stop() == 128 + signal.SIGKILL


def test_command_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no-such-command"):
        Guarded(["no-such-command"], log=tmp_path / "log")
    assert "no-such-command" in (tmp_path / "log").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent was killed")
def test_killed_guard(tmp_path: Path) -> None:
    child = Guarded(["sleep", "60"], log=tmp_path / "log")
    guard = psutil.Process(child.pid).parent()
    assert guard is not None and guard.pid != os.getpid()
    guard.kill()
    assert child.stop() != 0
    psutil.wait_procs([p for p in [guard] if p.is_running()], timeout=5)
    assert until(lambda: not psutil.pid_exists(child.pid), every=0.02)
