"""Limits how many queries Spark plans at a time, when all start at once as after a restart.

Planning and the first use of Java code take most of a start. Where all queries of an engine do that side by side, each
is as late as the last; one after the other, the first write their results while others are planned, and what Java has
compiled for one is there for the next.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

__all__ = ["SIDE_BY_SIDE", "StartLimit"]

SIDE_BY_SIDE = 2
"""Slots: with one slot, a query blocked on the brokers would block all others."""


class StartLimit:
    """At most ``count`` queries hold a slot at a time; the others wait."""

    def __init__(self, count: int = SIDE_BY_SIDE) -> None:
        self._free = threading.Semaphore(count)

    @contextlib.contextmanager
    def slot(self, stopping: threading.Event) -> Iterator[None]:
        """Waits for a slot and holds it to the end of the block. A query that is to stop goes on without one."""
        while not (mine := self._free.acquire(timeout=0.2)) and not stopping.is_set():
            pass
        try:
            yield
        finally:
            if mine:
                self._free.release()
