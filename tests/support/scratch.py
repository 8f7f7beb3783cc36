"""Temporary files of a test run lie in memory, where there is room: checkpoints and logs of brokers wait for no disk.

A run of all tests took a fifth less time with it. ``TMPDIR`` says where they lie instead, and keeps them. What servers
keep for a user goes to a folder of the run, too, never to the home folder.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import psutil
import pytest

__all__ = ["in_memory"]

IN_MEMORY = Path("/dev/shm")
ROOM = 8 << 30
"""Bytes that a run of all tests may need there, beside twice as much for its processes."""


def in_memory(folder: Path = IN_MEMORY, room: int = ROOM) -> bool:
    """Whether temporary files can lie in this folder."""
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        return False
    return shutil.disk_usage(folder).free >= room and psutil.virtual_memory().available >= 2 * room


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Children take it from the environment, also the other processes of the run."""
    _scratch(config)
    os.environ["XDG_DATA_HOME"] = home = tempfile.mkdtemp(prefix="ksqlpy-tests-home-")
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))


def _scratch(config: pytest.Config) -> None:
    if "TMPDIR" in os.environ or not in_memory():
        return
    for left in IN_MEMORY.glob("ksqlpy-tests-*-*"):  # of runs that were killed, or whose children wrote to the last
        pid = left.name.split("-")[2]
        if pid.isdecimal() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(left, ignore_errors=True)
    made = tempfile.mkdtemp(prefix=f"ksqlpy-tests-{os.getpid()}-", dir=IN_MEMORY)
    os.environ["TMPDIR"] = tempfile.tempdir = made

    def remove() -> None:
        del os.environ["TMPDIR"]
        tempfile.tempdir = None
        shutil.rmtree(made, ignore_errors=True)

    config.add_cleanup(remove)
