"""Folders for runs of Spark that end: the state of a pull query with GROUP BY or JOIN lies there."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ksqlpy.embedded.folders import scratch_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Scratch"]


class Scratch:
    """Folders for the runs of Spark. What Spark's state stores write into one after its run goes with the next run.

    ``shared``: a new folder that executors on other machines reach, a URI; None where all are on this machine. What a
    server leaves there that is killed is removed at the next start (``spark/checkpoints.py``).
    """

    def __init__(self, session: Callable[[], SparkSession], shared: Callable[[], str | None]) -> None:
        self._session, self._shared = session, shared
        self._around = contextlib.ExitStack()
        self._all: Path | None = None
        self._used: set[Path] = set()
        self._lock = threading.Lock()

    def close(self) -> None:
        """Removes all that is on this machine."""
        self._around.close()

    @contextlib.contextmanager
    def folder(self) -> Iterator[str]:
        """A folder for one run, a path or a URI."""
        shared = self._shared()
        with self._here() if shared is None else self._there(shared) as made:
            yield made

    @contextlib.contextmanager
    def _there(self, folder: str) -> Iterator[str]:
        from ksqlpy.spark.checkpoint import Checkpoint  # slow to import

        made = Checkpoint(self._session(), folder)
        made.make("pull")
        try:
            yield folder
        finally:
            made.remove()

    @contextlib.contextmanager
    def _here(self) -> Iterator[str]:
        with self._lock:
            if self._all is None:
                self._all = self._around.enter_context(scratch_folder("ksqlpy-pull-"))
            for left in set(self._all.glob("run-*")) - self._used:
                shutil.rmtree(left, ignore_errors=True)
            made = Path(tempfile.mkdtemp(prefix="run-", dir=self._all))
            self._used.add(made)
        try:
            yield str(made)
        finally:
            shutil.rmtree(made, ignore_errors=True)
            with self._lock:
                self._used.discard(made)
