"""Scratch folders are gone at the end, also when something still writes there."""

from __future__ import annotations

import contextlib
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
