"""What others see of a running query: its status, its phase, its last failures."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from enum import Enum

from ksqlpy.errors import KsqlError
from ksqlpy.spark.failure import Failure, failure_of
from ksqlpy.spark.query_status import QueryStatus, State
from ksqlpy.spark.topics import Topics

__all__ = ["Phase", "QueryReport"]

KEPT_FAILURES = 10


class Phase(Enum):
    """What a query does just now; the value is how people call it."""

    RECOVERY = "recovery"
    LIVE = "real-time"


class QueryReport:
    """The report of one query.

    ``status``: its state, since when, and its tries; ``phase`` what it does when it runs; ``failures`` the last ones,
    newest last; ``live``: set while its tasks run for good. ``refused``: in ERROR until there is room for it.
    ``restarts``: how many of its tries have failed. ``topics``: as brokers knew them when it started. ``changed`` is
    called when the state changes.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self.status = QueryStatus(State.STARTING)
        self.phase = Phase.LIVE
        self.failures: deque[Failure] = deque(maxlen=KEPT_FAILURES)
        self.live = threading.Event()
        self.refused = False
        self.restarts = 0
        self.topics = Topics()
        self._changed = changed

    @property
    def state(self) -> State:
        """The state alone."""
        return self.status.state

    @property
    def error(self) -> str | None:
        """Why it does not run, in ERROR and RETRYING."""
        return self.failures[-1].message if self.status.failed and self.failures else None

    def refuse(self, reason: KsqlError) -> None:
        """Says why it is not started."""
        self.refused = True
        self.failures.append(failure_of(reason))
        self.enter(State.ERROR)

    def tell(self, trouble: Failure) -> None:
        """Records a warning that may explain why the query makes no progress.

        A repeated message only updates its time.
        """
        if self.failures and self.failures[-1].message == trouble.message:
            self.failures.pop()
        self.failures.append(trouble)

    def enter(self, state: State, tries: int = 0, next_try: float | None = None) -> None:
        """Takes another state, whose tries may count on."""
        since = self.status.since if state is self.state else time.time()
        self.status = QueryStatus(state, since, tries, next_try)
        self._changed()
