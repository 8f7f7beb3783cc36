"""For which request, and for which query, a thread works: its log lines and the audit log name them."""

from __future__ import annotations

import itertools
import re
import secrets
import time
from contextvars import ContextVar
from dataclasses import dataclass, field

__all__ = ["QUERY", "REQUEST", "Request", "new_id", "sane_id"]

_SANE = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a client. ``address``: where it comes from; ``begun``: when it came, by the monotonic clock.

    ``endpoint``: the path of an endpoint; empty for other paths, which may hold anything.
    """

    id: str
    address: str = ""
    endpoint: str = ""
    begun: float = field(default_factory=time.monotonic)


REQUEST: ContextVar[Request | None] = ContextVar("request", default=None)
"""What a thread or a task works for; None for what the server does by itself."""

QUERY: ContextVar[str] = ContextVar("query", default="")
"""The id of the query that a thread belongs to; empty for none."""

_process = secrets.token_hex(6)
_numbers = itertools.count(1)


def new_id() -> str:
    """An id that no other request of any server has."""
    return f"{_process}-{next(_numbers):08x}"


def sane_id(given: str) -> str | None:
    """The id that a client gives, if it is short and of characters that mean nothing in a log; else None."""
    return given if _SANE.fullmatch(given) else None
