"""One look at the engine a second for all who watch, and the last hour of it.

While somebody watches it looks once a second, else each ten seconds, so that there is an hour to show when somebody
comes. What a line costs is paid once for all who see the same.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import resource
import time
from collections.abc import Callable
from pathlib import Path

from ksqlpy.server.backend import Backend, State
from ksqlpy.server.history import History
from ksqlpy.server.samples import (
    QUERY_SERIES,
    SERVER_SERIES,
    Own,
    Sample,
    Seen,
    changes,
    rings,
    sampled,
    seen,
    whole,
)
from ksqlpy.server.wire import encode

__all__ = ["IDLE", "PERIOD", "SERVER", "Sampler"]

log = logging.getLogger(__name__)

PERIOD, IDLE = 1.0, 10.0
"""Seconds between two looks while somebody watches, and while nobody does."""

SERVER = "server"
"""The name of the server's ring; no id of a query is in lower case."""


class Sampler:
    """The figures of one server. ``requests``: how many are answered now."""

    def __init__(
        self,
        backend: Backend,
        requests: Callable[[], int],
        now: Callable[[], float] = lambda: time.time() * 1000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backend, self._requests, self._now, self._clock = backend, requests, now, clock
        self.history = History(lambda name: SERVER_SERIES if name == SERVER else QUERY_SERIES, now)
        self.watchers = 0
        self.number = 0
        self._sample: Sample | None = None
        self._before: Sample | None = None
        self._lines: dict[tuple[Seen, bool], bytes] = {}
        self._task: asyncio.Task[None] | None = None
        self._taken = asyncio.Condition()
        self._woken = asyncio.Event()

    def begin(self) -> None:
        """Begins to look, for no request; it goes on as long as the event loop does."""
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run(), context=contextvars.Context())

    def watch(self) -> None:
        """Somebody watches from now on."""
        self.watchers += 1
        self.begin()
        self._woken.set()

    def leave(self) -> None:
        """Somebody does not any more."""
        self.watchers -= 1

    async def after(self, number: int) -> int:
        """Waits for a sample later than that of a number, and gives its number: those between are skipped."""
        async with self._taken:
            await self._taken.wait_for(lambda: self.number > number)
            return self.number

    def line(self, who: Seen, version: str, *, full: bool) -> bytes:
        """The present sample as a line, or what has changed since the one before."""
        sample = self._sample
        assert sample is not None  # who asks has waited for it
        line = self._lines.get((who, full))
        if line is None:
            view = seen(sample, who)
            before = None if full or self._before is None else seen(self._before, who)
            told = {"full": True, **whole(view)} if before is None else changes(before, view)
            line = self._lines[who, full] = encode({"at": sample.at, "graph": version, **told}) + b"\n"
        return line

    # ------------------------------------------------------------ the look

    async def _run(self) -> None:
        failed = False
        while self._backend.state is not State.STOPPING:
            began = self._clock()
            if self._backend.state is State.READY:
                try:
                    sample = await self._backend.ask(self._look)
                except Exception as e:  # whatever it is, the next look may be answered
                    if not failed:
                        log.warning("no figures of the engine: %s", e)
                    failed = True
                else:
                    failed = False
                    await self._take(sample)
            await self._rest(began)

    async def _rest(self, began: float) -> None:
        """Until the next look is due; who begins to watch does not wait for it."""
        while (left := began + (PERIOD if self.watchers else IDLE) - self._clock()) > 0:
            self._woken.clear()
            try:
                await asyncio.wait_for(self._woken.wait(), min(left, PERIOD))
            except TimeoutError:
                if self._backend.state is State.STOPPING:
                    return

    def _look(self) -> Sample:
        """Asks the engine, in a thread."""
        told = self._backend.engine.metrics()
        own = Own(time.process_time(), _memory(), self._requests(), self.watchers)
        sample = sampled(int(self._now()), self._clock() - (told.age or 0.0), told, own, self._sample)
        self.history.put(sample.at, rings(sample, SERVER))
        return sample

    async def _take(self, sample: Sample) -> None:
        async with self._taken:
            self._before, self._sample = self._sample, sample
            self._lines = {}
            self.number += 1
            self._taken.notify_all()


def _memory() -> int | None:
    """What the process has in memory, in bytes; None where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    except (OSError, IndexError, ValueError):
        return None
