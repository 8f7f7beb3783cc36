"""How many pull queries a server answers: in a second, and at one time.

Source of the rules: ksqlDB's ``ksql.query.pull.max.qps`` and ``ksql.query.pull.max.concurrent.requests``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ksqlpy.config import Config
from ksqlpy.errors import EngineProblem

__all__ = ["PullLimits"]

_RATE = "ksql.query.pull.max.qps"
_AT_ONCE = "ksql.query.pull.max.concurrent.requests"


class PullLimits:
    """Counts them. ``clock``: the time in seconds."""

    def __init__(self, config: Config, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = config.number(_RATE)
        self._at_once = config.number(_AT_ONCE)
        self._clock = clock
        self._lock = threading.Lock()
        self._open = 0
        # A bucket of the queries of a second, which fills all the time.
        self._left = float(self._rate)
        self._seen = clock()

    @property
    def any(self) -> bool:
        """Whether there is any limit."""
        return bool(self._rate or self._at_once)

    def enter(self) -> None:
        """A query begins, which must end by :meth:`leave`; raises EngineProblem ``too-many-queries`` (42900)."""
        if not self.any:
            return
        with self._lock:
            if self._at_once and self._open >= self._at_once:
                raise _too_many(f"{self._at_once} pull queries are being answered, and no more may be", _AT_ONCE)
            if self._rate:
                now = self._clock()
                self._left = min(float(self._rate), self._left + (now - self._seen) * self._rate)
                self._seen = now
                if self._left < 1:
                    raise _too_many(f"{self._rate} pull queries a second are answered, and no more", _RATE)
                self._left -= 1
            self._open += 1

    def leave(self) -> None:
        """A query that entered has ended."""
        if self.any:
            with self._lock:
                self._open -= 1


def _too_many(said: str, name: str) -> EngineProblem:
    hint = f"ask again later, or raise the server property {name}"
    return EngineProblem("too-many-queries", said, hint=hint, error_code=42900)
