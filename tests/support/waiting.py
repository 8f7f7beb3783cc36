"""How tests wait for what an engine does, and look at its topics."""

from __future__ import annotations

import time
from collections.abc import Callable

from ksqlpy.runtime import Engine

__all__ = ["count", "until"]


def until(true: Callable[[], bool], seconds: float = 40) -> bool:
    """Whether it becomes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.1)
    return False


def count(engine: Engine, topic: str) -> int:
    """How many records the topic has."""
    return sum(engine.kafka.offsets(engine.kafka.partitions([topic]), latest=True)[topic].values())
