"""Turns of queries that start at once, as all do after a restart.

Planning and the first use of Java code take most of a start. Where all queries of an engine do that side by side, each
is as late as the last; one after the other, the first write their results while others are planned, and what Java has
compiled for one is there for the next.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

__all__ = ["SIDE_BY_SIDE", "Turns"]

SIDE_BY_SIDE = 2
"""So many at once: with one alone, a query that brokers keep waiting would keep all others."""


class Turns:
    """So many queries as ``count`` are in their turn at a time; the others wait."""

    def __init__(self, count: int = SIDE_BY_SIDE) -> None:
        self._free = threading.Semaphore(count)

    @contextlib.contextmanager
    def take(self, stopping: threading.Event) -> Iterator[None]:
        """Waits for a turn, and has it to the end of the block. Who is to stop does not wait, and needs none."""
        while not (mine := self._free.acquire(timeout=0.2)) and not stopping.is_set():
            pass
        try:
            yield
        finally:
            if mine:
                self._free.release()
