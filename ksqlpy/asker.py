"""Who waits for what a thread does: a client of the server, which may leave."""

from __future__ import annotations

import threading
from contextvars import ContextVar

__all__ = ["LEFT"]

LEFT: ContextVar[threading.Event | None] = ContextVar("left", default=None)
"""Is set when nobody waits for the statement that this thread carries out: its client has left, or the server stops."""
