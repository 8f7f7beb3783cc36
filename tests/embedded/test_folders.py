"""Scratch folders are gone at the end, also when something still writes there."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from pathlib import Path

from ksqlpy.embedded.folders import removed, scratch_folder


def test_gone_at_the_end(tmp_path: Path) -> None:
    with scratch_folder("question-", tmp_path) as folder:
        (folder / "checkpoint").mkdir()
        (folder / "checkpoint" / "metadata").write_text("{}")
    assert list(tmp_path.iterdir()) == []


def test_a_late_writer(tmp_path: Path) -> None:
    """As Spark brings the state of an ended query: files come while the folder is removed."""
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    until = time.monotonic() + 0.3

    def write() -> None:
        number = 0
        while time.monotonic() < until and folder.exists():
            number += 1
            with contextlib.suppress(OSError):  # it is gone in between
                (folder / "state").mkdir(exist_ok=True)
                (folder / "state" / f"{number}.delta").write_text("x")

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    removed(folder)
    for writer in writers:
        writer.join()
    assert not folder.exists()


def test_what_killed_processes_left_goes_and_the_living_stays(tmp_path: Path) -> None:
    script = (
        "import os, pathlib; from ksqlpy.embedded.folders import scratch_folder\n"
        "with scratch_folder('kill-', pathlib.Path(os.sys.argv[1])): os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path)]).returncode == -9
    [left] = tmp_path.iterdir()
    (tmp_path / "kill-of-somebody").mkdir()
    with scratch_folder("kill-", tmp_path) as living, scratch_folder("kill-", tmp_path) as second:
        assert set(tmp_path.iterdir()) == {living, second, tmp_path / "kill-of-somebody"}
    assert not left.exists()
