"""The engine and what it is made of."""

from __future__ import annotations

from ksqlpy.runtime.engine import Engine
from ksqlpy.runtime.push import PushQuery

__all__ = ["Engine", "PushQuery"]
