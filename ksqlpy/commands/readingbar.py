"""A bar on a terminal: how many of the records that are there have been read."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["ReadingBar"]

_LOOK = 0.25
"""Seconds between two looks at the number."""


class ReadingBar:
    """Shows the number that ``count`` gives, of ``total`` records, as a context manager; then the bar is gone.

    It is asked for the number in a thread of its own; an error of it ends the bar, and nothing else. Where ``stream``,
    by default standard error, is no terminal, nothing is asked and nothing is shown.
    """

    def __init__(self, total: int, count: Callable[[], int], stream: TextIO | None = None) -> None:
        self._total = total
        self._count = count
        self._stream = stream
        self._over = threading.Event()
        self._ending = threading.Lock()
        self._thread: threading.Thread | None = None
        self._bar: Progress | None = None

    def __enter__(self) -> ReadingBar:
        stream = self._stream or sys.stderr
        if self._total and stream.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                BarColumn(),
                TextColumn("{task.completed:,.0f} of {task.total:,.0f} records"),
                TimeRemainingColumn(),
                console=Console(file=stream),
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._bar.start()
            task = self._bar.add_task("", total=self._total)
            self._thread = threading.Thread(target=self._look, args=(self._bar, task), name="bar", daemon=True)
            self._thread.start()
        return self

    def _look(self, bar: Progress, task: TaskID) -> None:
        most = 0
        while not self._over.wait(_LOOK):
            try:
                most = max(most, self._count())
            except Exception:  # the session ends: no number is worth an error
                return
            bar.update(task, completed=min(most, self._total))

    def end(self) -> None:
        """Takes the bar away; nothing where there is none."""
        self._over.set()
        with self._ending:
            if self._thread is not None:
                self._thread.join(5)
                self._thread = None
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
