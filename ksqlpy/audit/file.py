"""Lines in a file of bounded size, and a bounded number of older ones."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Sequence
from pathlib import Path

from ksqlpy.errors import ConfigProblem, file_reason

__all__ = ["RotatedFile"]

SAFE = 1.0
"""Seconds after which lines are on the disk, and not in the memory of the machine only."""


class RotatedFile:
    """``file``, and ``file.1`` (the newest of the older ones) to ``file.N``; for its owner to read. One process writes.

    A line is there as a whole, or not at all.
    """

    name = "file"
    problem = ""

    def __init__(self, file: Path, size: int, count: int) -> None:
        """``size``: bytes of a file; ``count``: older ones that are kept. Raises ConfigProblem ``audit-file``."""
        self._file, self._most, self._count = file, size, count
        self._descriptor: int | None = None
        self._size = 0
        self._safe_at = time.monotonic()
        self._unsafe = False
        try:
            self._open()
        except OSError as e:
            raise ConfigProblem(
                "audit-file",
                f"the audit log {file} cannot be written: {file_reason(e)}",
                hint="ksqlpy.audit.file names a file in a folder that is there and that the server may write",
            ) from e

    def write(self, lines: Sequence[bytes]) -> int:
        """Writes lines; gives how many were lost."""
        begin = 0
        try:
            while begin < len(lines):
                if self._descriptor is None:
                    self._open()
                if self._size and self._size + len(lines[begin]) > self._most:
                    self._rotate()
                end, size = begin, 0
                while end < len(lines) and (not size or self._size + size + len(lines[end]) <= self._most):
                    size += len(lines[end])
                    end += 1
                self._append(b"".join(lines[begin:end]))
                begin = end
        except OSError as e:
            self.problem = file_reason(e)
            self._end()  # the next lines try anew
        if self._unsafe and time.monotonic() - self._safe_at >= SAFE:
            self._sync()
        return len(lines) - begin

    def close(self) -> int:
        """Ends it."""
        self._sync()
        self._end()
        return 0

    def _append(self, data: bytes) -> None:
        assert self._descriptor is not None
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError:
            with contextlib.suppress(OSError):  # no half a line; a device cannot be cut
                os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(data)
        self._unsafe = True

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._descriptor = os.open(self._file, flags, 0o600)
        self._size = os.fstat(self._descriptor).st_size
        if self._size and not self._ends_a_line():  # the process was killed while it wrote
            self._append(b"\n")

    def _ends_a_line(self) -> bool:
        try:
            with self._file.open("rb") as opened:
                opened.seek(-1, os.SEEK_END)
                return opened.read(1) == b"\n"
        except OSError:
            return True

    def _rotate(self) -> None:
        self._sync()
        self._end()
        older = [self._file, *(self._file.with_name(f"{self._file.name}.{n}") for n in range(1, self._count + 1))]
        for one, next_ in reversed(list(itertools.pairwise(older))):
            with contextlib.suppress(FileNotFoundError):
                os.replace(one, next_)
        if not self._count:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._file)
        self._open()

    def _sync(self) -> None:
        self._safe_at, self._unsafe = time.monotonic(), False
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.fdatasync(self._descriptor)

    def _end(self) -> None:
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None
