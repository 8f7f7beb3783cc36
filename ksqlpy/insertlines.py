"""Rows that a client inserts, as the lines of one request after the other."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from datetime import time as clock_time
from decimal import Decimal

__all__ = ["InsertLines"]

_ROWS, _HELD = 10_000, 1.0
"""Rows of a request, and seconds after which the next row begins another one: acknowledgements come at its end."""


class InsertLines:
    """The next rows, as lines of a request. ``over``: there are no more; ``failed``: what their giver has raised."""

    def __init__(self, rows: Iterator[Mapping[str, object] | str]) -> None:
        self._rows = rows
        self.sent = 0
        self.over = False
        self.failed: Exception | None = None
        self._line = self._next()

    def __iter__(self) -> Iterator[bytes]:
        begun = time.monotonic()
        while self._line is not None:
            self.sent += 1
            yield self._line
            if self.sent == _ROWS or time.monotonic() - begun > _HELD:
                return
            self._line = self._next()

    def _next(self) -> bytes | None:
        try:
            row = next(self._rows, None)
            # A line end is white space in JSON: in texts it is escaped.
            line = row.replace("\n", " ") if isinstance(row, str) else json.dumps(row, default=_json_value)
        except Exception as e:  # of whoever gives them; what was sent is to be acknowledged first
            row, self.failed = None, e
        self.over = row is None
        return None if row is None else line.encode() + b"\n"


def _json_value(value: object) -> object:
    """What JSON has not, as the server reads it: digits of a DECIMAL, ISO 8601, base64."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, date | datetime | clock_time):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"a row cannot hold {value!r}")
