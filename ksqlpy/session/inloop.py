"""Coroutines that handle the rows of a subscription, in their event loop."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Sequence

from ksqlpy.session.rows import Row
from ksqlpy.session.subscriptions import Handled, in_full

__all__ = ["InLoop"]


class InLoop:
    """A coroutine, an asynchronous generator or a function, as what the thread of a subscription calls."""

    def __init__(self, function: Callable[[Row], object], loop: asyncio.AbstractEventLoop) -> None:
        self._function = function
        self._loop = loop

    def __call__(self, row: Row) -> object:
        return self._function(row)

    def handle(self, rows: Sequence[Row], write: bool, stopping: threading.Event) -> Handled:
        """Handles rows in the loop, one after the other; waits for it."""
        return asyncio.run_coroutine_threadsafe(self._handle(rows, write, stopping), self._loop).result()

    async def _handle(self, rows: Sequence[Row], write: bool, stopping: threading.Event) -> Handled:
        found = Handled(stopping)
        for row in rows:
            try:
                found.add(await self._results(row), write=write)
            except Exception as e:  # the user's
                found.failure = e
                break
            if found.due:
                break
        return found

    async def _results(self, row: Row) -> object:
        results = self._function(row)
        if inspect.isasyncgen(results):
            return [result async for result in results]
        return await results if inspect.isawaitable(results) else in_full(results)
