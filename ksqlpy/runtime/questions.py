"""A question that is asked again and again, in a thread of its own: who asks waits for its answer for a while only.

The thread stays, and with it its connection to Spark's JVM: PySpark opens one for each thread that asks, and the JVM
starts a thread for each connection.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Answer", "Questions"]

log = logging.getLogger(__name__)

T = TypeVar("T")

IDLE = 120.0
"""Seconds without a question after which the thread ends: more than lie between the scrapes of a Prometheus."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """``at``: when the question was asked, so that what it tells is not taken for younger than it is."""

    told: T
    at: float


class Questions(Generic[T]):
    """At most one question is open; who asks meanwhile waits for its answer, too.

    ``ask`` gives None, or raises, where there is no answer; ``clock``: the time in seconds. ``open``: whether there is
    a question; ``last``: the last answer that came.
    """

    def __init__(self, ask: Callable[[], T | None], name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._ask, self._name, self._clock = ask, name, clock
        self._changed = threading.Condition()
        self.open = self._there = False
        self._answered = 0
        self.last: Answer[T] | None = None

    def ask(self, patience: float) -> Answer[T] | None:
        """The answer, or the last one if it does not come within so many seconds; it becomes the last one later."""
        with self._changed:
            self.open = True
            mine = self._answered + 1
            if self._there:
                self._changed.notify_all()
            else:
                threading.Thread(target=self._run, name=self._name, daemon=True).start()
                self._there = True
            self._changed.wait_for(lambda: self._answered >= mine, patience)
            return self.last

    def _run(self) -> None:
        while self._wanted():
            at, told = self._clock(), None
            try:
                told = self._ask()
            except Exception as e:  # whatever it is, what was told before stays
                log.warning("no answer to %s: %s", self._name, e)
            with self._changed:
                if told is not None:
                    self.last = Answer(told, at)
                self.open = False
                self._answered += 1
                self._changed.notify_all()

    def _wanted(self) -> bool:
        """Waits for a question; False if none comes, and another thread begins with the next one."""
        with self._changed:
            self._there = self._changed.wait_for(lambda: self.open, IDLE)
            return self._there
