"""A Spark session for a command that ends by itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from ksqlpy.embedded.process import start_whole
from ksqlpy.spark.session import end_session, has_session, start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["LocalSpark"]

MEMORY = "700m"


class LocalSpark:
    """A session on this machine's processors, as a context manager; one that the process has already is taken as it is.

    ``folder``: for Spark's own files. ``progress`` is told about the start. Raises EnvironmentProblem.
    """

    def __init__(self, folder: Path, progress: Callable[[str], None]) -> None:
        self._folder = folder
        self._progress = progress
        self._own: SparkSession | None = None

    def __enter__(self) -> SparkSession:
        if has_session():
            return self._start(None)
        start_whole(self._make, self._end, self._progress)
        assert self._own is not None
        return self._own

    def _start(self, progress: Callable[[str], None] | None) -> SparkSession:
        return start_session(f"local[{os.cpu_count() or 2}]", MEMORY, self._folder / "spark", progress)

    def _make(self) -> None:
        self._own = self._start(self._progress)

    def _end(self) -> None:
        if self._own is not None:
            end_session(self._own)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
