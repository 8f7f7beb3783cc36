"""The headers by which a trace goes on from one program to the next.

Source of the rules: W3C Trace Context, "traceparent Header", "tracestate Header".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ksqlpy.config import Config

__all__ = ["ENDPOINT", "RECORDS", "TraceHeaders", "of_request", "wanted"]

ENDPOINT = "ksqlpy.traces.endpoint"
RECORDS = "ksqlpy.traces.records"

_PARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?")

_LONGEST = 512
"""Characters of a tracestate that is handed on; what is longer may be left out."""


class TraceHeaders(NamedTuple):
    """What names a trace, and the span in it of which others are children."""

    traceparent: str
    tracestate: str = ""

    def of_record(self) -> list[tuple[str, bytes]]:
        """As headers of a record."""
        return [(name, text.encode()) for name, text in self._asdict().items() if text]


def wanted(config: Config) -> bool:
    """Whether anything is done with the traces of requests."""
    return bool(config.get(ENDPOINT)) or config.get(RECORDS) == "true"


def of_request(headers: Iterable[tuple[bytes, bytes]]) -> TraceHeaders | None:
    """Those of a request; None where there are none, or wrong ones, which are ignored."""
    parents, states = [], []
    for name, value in headers:
        if name == b"traceparent":
            parents.append(value.decode("latin-1").strip())
        elif name == b"tracestate":
            states.append(value.decode("latin-1").strip())
    matched = _PARENT.fullmatch(parents[0]) if len(parents) == 1 else None
    if matched is None:
        return None
    version, trace, span, more = matched.groups()
    if version == "ff" or not trace.strip("0") or not span.strip("0") or (version == "00" and more):
        return None
    state = ",".join(filter(None, states))
    return TraceHeaders(parents[0], state if state.isascii() and len(state) <= _LONGEST else "")
