"""The folder for things that can be recreated, locks on it, and how slow work there reports itself."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from ksqlpy.errors import EnvironmentProblem

__all__ = ["Progress", "StatusLine", "cache_folder", "digest", "locked", "part_of"]

Progress = Callable[[str], None]
"""Takes one short line about what is going on; an empty text means that the work is over."""


def cache_folder(*parts: str) -> Path:
    """``$XDG_CACHE_HOME/ksqlpy/PARTS`` (by default below ``~/.cache``), created when missing.

    Raises EnvironmentProblem ``cache-folder`` when it cannot be created.
    """
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(root).expanduser().joinpath("ksqlpy", *parts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise EnvironmentProblem(
            "cache-folder",
            f"the cache folder {folder} cannot be created: {e.strerror or e}",
            hint="let XDG_CACHE_HOME name a folder that you may write to",
        ) from e
    return folder


def digest(*parts: str | bytes) -> str:
    """12 hex digits that stand for the given texts, for names of files in the cache."""
    h = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        h.update(len(data).to_bytes(8, "big") + data)
    return h.hexdigest()[:12]


def part_of(file: Path) -> Path:
    """The name under which a file is written until it is whole and replaces the one before.

    No other process and no other thread has the same: broker and Spark start side by side.
    """
    return file.with_name(f"{file.name}.{os.getpid()}.{threading.get_ident()}")


@contextlib.contextmanager
def locked(file: Path, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the exclusive lock on ``file`` against other processes; ``waiting`` is called once if another has it.

    The lock ends with the process, however it ends; the file stays.
    """
    with file.open("a") as f:
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if waiting is not None:
                waiting()
            fcntl.flock(f, fcntl.LOCK_EX)
        yield  # closing the file gives the lock back


class StatusLine:
    """A :data:`Progress` that keeps one line of a terminal up to date.

    Where the stream is no terminal (a log of CI), only the first line of each piece of work is printed: the part in
    front of ``:`` names the piece.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._shown = ""

    def __call__(self, text: str) -> None:
        stream = self._stream or sys.stderr
        if stream.isatty():
            stream.write(f"\r\x1b[2K{text}")
        elif text and text.partition(":")[0] != self._shown.partition(":")[0]:
            stream.write(f"{text}\n")
        stream.flush()
        self._shown = text or self._shown
