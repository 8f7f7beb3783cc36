"""The last log lines of each query, in memory that does not grow: what a page shows beside its figures."""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from dataclasses import dataclass

from ksqlpy.errors import cut, reason_of
from ksqlpy.logs.form import level_name
from ksqlpy.request import QUERY

__all__ = ["KEPT", "LINES", "LONGEST", "QUERIES", "Line", "Lines"]

LINES, QUERIES, LONGEST = 100, 500, 2000
"""Lines of a query, queries that have any, and characters of a line; the oldest ones go."""


@dataclass(frozen=True, slots=True)
class Line:
    """``time``: seconds since 1970."""

    time: float
    level: str
    logger: str
    message: str


class Lines(logging.Handler):
    """Keeps what is logged for a query by the process; any thread may ask."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: OrderedDict[str, deque[Line]] = OrderedDict()

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps the line, if a query is at work."""
        query = QUERY.get()
        if not query:
            return
        try:
            message = record.getMessage()
            if record.exc_info and record.exc_info[1] is not None:
                message = f"{message}: {reason_of(record.exc_info[1])}"
        except Exception:  # as all handlers do: who logs must not fail
            self.handleError(record)
            return
        lines = self._lines.setdefault(query, deque(maxlen=LINES))
        lines.append(Line(record.created, level_name(record.levelno), record.name, cut(message, LONGEST)))
        self._lines.move_to_end(query)
        while len(self._lines) > QUERIES:
            self._lines.popitem(last=False)

    def forget(self, query: str) -> None:
        """Drops those of a query of before: another one gets its id, which others may see."""
        self.acquire()
        try:
            self._lines.pop(query, None)
        finally:
            self.release()

    def of(self, query: str) -> list[Line]:
        """Those of a query, oldest first."""
        self.acquire()
        try:
            return list(self._lines.get(query, ()))
        finally:
            self.release()


KEPT = Lines()
"""Those of this process."""
