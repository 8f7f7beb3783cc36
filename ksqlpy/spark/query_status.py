"""The status of a query: its state, since when it has that state, and its failed tries."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

__all__ = ["QueryStatus", "State"]


class State(StrEnum):
    """What people see of a query; ksqlDB's own states are fewer, see :attr:`QueryStatus.client_status`."""

    STARTING = "STARTING"
    """Waits for a slot to start in, or is planned; it has read nothing yet."""
    RECOVERING = "RECOVERING"
    """As STARTING, on a checkpoint: looks for the results that are written, and takes up its state."""
    RUNNING = "RUNNING"
    RETRYING = "RETRYING"
    """Failed; waits for its next try, or is in it and has not come past where it failed."""
    ERROR = "ERROR"
    """Does not try by itself: it has no room, or may not run."""
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


@dataclass(frozen=True)
class QueryStatus:
    """A state; ``since``: when it began, in seconds since 1970, or None if nobody knows.

    ``tries``: that failed one after the other; ``next_try``: when the next begins, None while one is made.
    """

    state: State
    since: float | None = field(default_factory=time.time)
    tries: int = 0
    next_try: float | None = None

    @property
    def failed(self) -> bool:
        """Whether it does not run because of a failure."""
        return self.state in (State.ERROR, State.RETRYING)

    @property
    def client_status(self) -> str:
        """What ksqlDB's clients read: they refuse other names than RUNNING, ERROR, PAUSED and UNRESPONSIVE.

        Source: ksqlDB's ``KsqlConstants.KsqlQueryStatus``; of a query that starts it says RUNNING.
        """
        if self.state is State.PAUSED:
            return "PAUSED"
        return "ERROR" if self.failed or self.state is State.STOPPED else "RUNNING"

    def told(self) -> dict[str, Any]:
        """The fields that stand beside ``state`` in answers; times in ms since 1970."""
        return {"since": _ms(self.since), "tries": self.tries, "nextTry": _ms(self.next_try)}


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds * 1000)
