"""Counts the records of the result topics all the time, and notes after every kill when results come again."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.chaos.sinks import Topics

__all__ = ["Mark", "Watch"]

LOOK = 0.25
"""Seconds between two looks: how exact the times are."""


@dataclass
class Mark:
    """A moment after which results are waited for; times in seconds of the monotonic clock.

    ``since``: the moment; ``made``: when the mark was made, until when nothing new can have come. ``first``: when the
    first new result was seen, ``every``: when all topics had one; ``caught_up``: when all results were there of the
    records sent before ``since``, which results of tasks that were not hit cannot stand for; None if not yet.
    """

    since: float
    made: float
    first: float | None = None
    every: float | None = None
    caught_up: float | None = None
    begin: dict[str, int] = field(default_factory=dict)


class Watch:
    """A thread that looks at topics (name to partitions) from :meth:`start` to :meth:`stop`."""

    def __init__(self, topics: Topics, partitions: Mapping[str, int]) -> None:
        self._topics, self._partitions = topics, partitions
        self._marks: list[Mark] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._looks: list[tuple[float, float, dict[str, int]]] = []
        """When each look that found something new was begun and ended, and what it found."""
        self.counts: dict[str, int] = {}
        """How many records each topic had at the last look."""
        self.changed = time.monotonic()
        """When they changed last."""

    def start(self) -> None:
        """Begins to look."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._topics.close()

    def mark(self, since: float | None = None) -> Mark:
        """From now on results are new; the mark is filled in while they come. ``since``: what times count from."""
        now = time.monotonic()
        mark = Mark(now if since is None else since, now)
        with self._lock:
            self._marks.append(mark)
        return mark

    def reached(self, counts: Mapping[str, int], after: float) -> float | None:
        """When the topics were first seen to have so many records, by a look begun after that moment; None if never."""
        for asked, now, found in self._looks:
            if asked >= after and all(found[t] >= n for t, n in counts.items()):
                return now
        return None

    def _run(self) -> None:
        while not self._stop.wait(LOOK):
            asked = time.monotonic()
            counts = self._topics.count(self._partitions)
            if counts is not None:
                self._seen(asked, counts)

    def _seen(self, asked: float, counts: dict[str, int]) -> None:
        now = time.monotonic()
        if counts != self.counts:
            self.counts, self.changed = counts, now
            self._looks.append((asked, now, counts))
        with self._lock:
            for mark in self._marks:
                if mark.made > asked:
                    continue
                # What was written just before the mark is no new result: the first look after it is what counts from.
                mark.begin = mark.begin or counts
                if mark.first is None and counts != mark.begin:
                    mark.first = now
                if all(counts[t] > begin for t, begin in mark.begin.items()):
                    mark.every = now
            self._marks = [m for m in self._marks if m.every is None]
