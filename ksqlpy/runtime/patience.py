"""Statements that wait until something comes true: so many at one time, so long, and while their client is there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from sqlglot import exp

from ksqlpy.analysis import Text
from ksqlpy.asker import LEFT
from ksqlpy.errors import EngineProblem

__all__ = ["check_timeout", "wait_until"]

T = TypeVar("T")

MOST = 32
"""Statements that may wait at one time: each holds a thread of the server."""
LONGEST = 3_600_000
"""Milliseconds."""

_places = threading.BoundedSemaphore(MOST)


def check_timeout(timeout: exp.Expr | None, text: Text) -> None:
    """Refuses a longer TIMEOUT; raises AnalysisProblem ``bad-timeout``."""
    if timeout is not None and timeout.millis > LONGEST:  # type: ignore[attr-defined]
        text.refuse("bad-timeout", "TIMEOUT is at most an hour", timeout, hint="TIMEOUT 1 HOUR; or ask again")


def wait_until(problem: Callable[[], T | None], millis: int, every: float) -> T | None:
    """What is left of a problem after so many ms; None if there is none. It is looked at every so many seconds.

    Raises EngineProblem ``too-many-wait`` (42900) when too many statements wait, and ``client-left``.
    """
    if (found := problem()) is None:
        return None
    if not _places.acquire(blocking=False):
        raise EngineProblem(
            "too-many-wait",
            f"{MOST} statements wait for topics or schemas, and no more may at one time",
            hint="try again soon",
            error_code=42900,
        )
    try:
        left, end = LEFT.get() or threading.Event(), time.monotonic() + millis / 1000
        while (remaining := end - time.monotonic()) > 0:
            if left.wait(min(remaining, every)):
                raise EngineProblem("client-left", "nobody waits for the statement any more")
            if (found := problem()) is None:
                return None
        return found
    finally:
        _places.release()
