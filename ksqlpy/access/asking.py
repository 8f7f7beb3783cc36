"""For whom a thread works: the principal of the request, which nobody has to hand on, so that nobody can forget it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

from ksqlpy.access.principal import Principal

__all__ = ["ASKS", "asking"]

ASKS: ContextVar[Principal | None] = ContextVar("asks", default=None)
"""Who asks; None where there is no login, and for what the server does by itself."""


@contextlib.contextmanager
def asking(principal: Principal | None) -> Iterator[None]:
    """What is done inside is done for this principal."""
    token = ASKS.set(principal)
    try:
        yield
    finally:
        ASKS.reset(token)
