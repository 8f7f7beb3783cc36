"""A line at the bottom of the terminal that says what is waited for, once that takes longer than a second."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TextIO

from ksqlpy.shell.text import escaped

__all__ = ["PATIENCE", "Progress"]

PATIENCE = 1.0
"""Seconds of silence before the line is shown."""

PERIOD = 0.2
"""Seconds between two looks at what is going on."""

_CLEAR = "\r\x1b[2K"


class Progress:
    """Shows what goes on; nothing where standard error is no terminal.

    >>> with Progress().doing("waiting for the server"):
    ...     pass
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._lock = threading.RLock()
        self._shown = ""
        self._what: Callable[[], str] | None = None

    @property
    def _target(self) -> TextIO:
        return self._stream or sys.stderr

    @contextlib.contextmanager
    def doing(self, what: str | Callable[[], str], patience: float = PATIENCE) -> Iterator[None]:
        """Shows ``what`` and the seconds so far while the block runs, from ``patience`` seconds on.

        Nothing is shown while it is empty. Inside of another one it takes its place. Lines are printed under
        :meth:`hidden` meanwhile.
        """
        if not self._target.isatty() or os.environ.get("TERM", "dumb") == "dumb":
            yield
            return
        outer, self._what = self._what, (lambda: what) if isinstance(what, str) else what
        ended = threading.Event()
        ticker = None
        if outer is None:
            ticker = threading.Thread(target=self._tick, args=(ended, patience), name="progress", daemon=True)
            ticker.start()
        try:
            yield
        finally:
            self._what = outer
            if ticker is not None:
                ended.set()
                ticker.join()
                self._clear()

    @contextlib.contextmanager
    def hidden(self) -> Iterator[None]:
        """Takes the line away while the block prints something."""
        with self._lock:
            self._clear()
            yield

    def _tick(self, ended: threading.Event, patience: float) -> None:
        began = time.monotonic()
        if ended.wait(patience):
            return
        while True:
            what = self._what
            if what is not None:
                with self._lock:
                    text = what()
                    if text:
                        self._draw(f"{escaped(text)} ({time.monotonic() - began:.0f} s)")
            if ended.wait(PERIOD):
                return

    def _draw(self, text: str) -> None:
        if text != self._shown:
            room = _columns(self._target)
            self._target.write(f"{_CLEAR}{text[: room - 1]}")
            self._target.flush()
            self._shown = text

    def _clear(self) -> None:
        if self._shown:
            self._target.write(_CLEAR)
            self._target.flush()
            self._shown = ""


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
