"""Folders that are gone when they are no longer needed."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["removed", "scratch_folder"]

_SECONDS = 2.0


def removed(folder: Path) -> None:
    """Removes a folder with all that is in it; what cannot go stays, without an error.

    Spark brings the state of an ended query to its checkpoint a moment after the end: it may write while this
    removes, so this goes on until the folder is gone, two seconds at most.
    """
    until = time.monotonic() + _SECONDS
    while True:
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists() or time.monotonic() >= until:
            return
        time.sleep(0.05)


@contextlib.contextmanager
def scratch_folder(prefix: str, within: Path | None = None) -> Iterator[Path]:
    """A new folder named ``prefix…``, in ``within`` or where temporary files are; gone at the end."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=within))
    try:
        yield folder
    finally:
        removed(folder)
