"""Writes result rows to a file atomically."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Protocol

from ksqlpy.errors import ConfigProblem, file_reason
from ksqlpy.shell.text import csv_line, json_line, json_text

if TYPE_CHECKING:
    from ksqlpy.catalog import Column

__all__ = ["ENDINGS", "OutFile"]

ENDINGS = (".csv", ".jsonl", ".parquet", ".arrow")
"""How the names of files may end: they say the form."""


class _Writer(Protocol):
    def row(self, row: Sequence[Any]) -> None: ...
    def end(self) -> None: ...
    def abandon(self) -> None: ...


class OutFile:
    """A file for rows, as a context manager: written beside its place as ``NAME.<process>.part``, and moved there by
    :meth:`keep`. Whatever was not kept is removed at the end, and an older file of the name stays.

    ``file``: one of :data:`ENDINGS`. Raises ConfigProblem ``file-unwritable``, also when the disk is full, and
    EnvironmentProblem ``missing-package`` for Parquet and Arrow without pyarrow.
    """

    def __init__(self, file: Path, columns: Sequence[Column]) -> None:
        self._named = file
        self._file = file.resolve()  # a link stays one
        self._part = self._file.with_name(f"{self._file.name}.{os.getpid()}.part")
        self._columns = columns
        self._open: IO[bytes] | None = None
        self._writer: _Writer | None = None

    def __enter__(self) -> OutFile:
        with self._written():
            if self._file.is_dir():
                raise IsADirectoryError(21, "is a directory")
            self._open = self._part.open("wb", buffering=1 << 20)
        try:
            with self._written():
                self._writer = self._made(self._open, self._file.suffix.lower())
        except BaseException:
            self._remove()
            raise
        return self

    def _made(self, file: IO[bytes], ending: str) -> _Writer:
        if ending == ".csv":
            return _Lines(file, self._columns, lambda row: csv_line(row, escape=False), head=True)
        if ending == ".jsonl":
            names = [c.name for c in self._columns]
            return _Lines(file, self._columns, lambda row: json_line(json_text(dict(zip(names, row, strict=True)))))
        from ksqlpy.local.columnar import ColumnarFile

        return ColumnarFile(file, ending, self._columns)

    def row(self, row: Sequence[Any]) -> None:
        """Writes a row."""
        assert self._writer is not None
        with self._written():
            self._writer.row(row)

    def keep(self) -> None:
        """Ends the file and puts it in its place."""
        assert self._writer is not None and self._open is not None
        with self._written():
            self._writer.end()
            self._open.flush()
            os.fsync(self._open.fileno())
            self._open.close()
            self._part.replace(self._file)
        self._writer = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _remove(self) -> None:
        if self._writer is not None:
            self._writer.abandon()
        with contextlib.suppress(OSError):
            if self._open is not None:
                self._open.close()
        with contextlib.suppress(OSError):
            self._part.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except OSError as e:
            raise ConfigProblem("file-unwritable", f"{self._named} cannot be written: {file_reason(e)}") from e


class _Lines:
    """Rows as lines of text in UTF-8, ``head``: behind one of the names of columns."""

    def __init__(
        self, file: IO[bytes], columns: Sequence[Column], text: Callable[[list[object]], str], *, head: bool = False
    ) -> None:
        self._file = file
        self._text = text
        if head:
            self.row([c.name for c in columns])

    def row(self, row: Sequence[Any]) -> None:
        self._file.write(f"{self._text(list(row))}\n".encode(errors="backslashreplace"))

    def end(self) -> None:
        pass

    def abandon(self) -> None:
        pass
