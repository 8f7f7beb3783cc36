"""Folders: locked ones, and ones that are gone when they are no longer needed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ksqlpy.errors import EnvironmentProblem

__all__ = ["folder_locked", "kept", "private", "removed", "scratch_folder"]

_SECONDS = 2.0
_LOCK = ".lock"


def kept(folder: str) -> str:
    """What a person is told of the data of a server; ``folder``: empty for a temporary one."""
    return f"stays in {Path(folder).expanduser().absolute()}" if folder else "goes at the end"


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
def folder_locked(folder: Path, what: str, by: str = "another server") -> Iterator[None]:
    """Holds the exclusive lock on a folder, which is made if it is not there; it ends with the process in any case.

    ``what``: how messages call the folder; ``by``: who else may hold it. Raises EnvironmentProblem ``folder-in-use``
    with the holder's process and machine, and ``folder-not-usable``.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "engine.lock").open("a+", encoding="utf-8")
    except OSError as e:
        raise EnvironmentProblem(
            "folder-not-usable",
            f"the {what} {folder} cannot be used: {e.strerror or e}",
            hint="name a folder that you may write to",
        ) from e
    with lock:
        if not _lock(lock):
            lock.seek(0)
            holder = lock.read().strip()
            raise EnvironmentProblem(
                "folder-in-use",
                f"the {what} {folder} is in use by {by}{f': {holder}' if holder else ''}",
                hint="stop that one, or name another folder",
            )
        lock.seek(0)
        lock.truncate()
        lock.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        lock.flush()
        yield


def _lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def private() -> Iterator[None]:
    """What is written inside is for nobody else; of the whole process."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


@contextlib.contextmanager
def scratch_folder(prefix: str, within: Path | None = None) -> Iterator[Path]:
    """A new folder named ``prefix…``, in ``within`` or where temporary files are; gone at the end.

    What processes that were killed have left there under that prefix is removed, too.
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=within))
    # Whoever sees the file finds it locked as long as this process is there.
    with (folder / f"{_LOCK}.part").open("w", encoding="utf-8") as lock:
        _lock(lock)
        (folder / f"{_LOCK}.part").rename(folder / _LOCK)
        _sweep(folder.parent, prefix)
        try:
            yield folder
        finally:
            removed(folder)


def _sweep(parent: Path, prefix: str) -> None:
    """Removes folders of that prefix whose process is gone; those without a lock file are not ours."""
    for file in parent.glob(f"{prefix}*/{_LOCK}"):
        with contextlib.suppress(OSError), file.open("r+", encoding="utf-8") as lock:
            if _lock(lock):
                shutil.rmtree(file.parent, ignore_errors=True)
