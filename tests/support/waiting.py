"""How tests wait for what a server, an engine or a thread does, and look at its topics."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ksqlpy.runtime import Engine

__all__ = ["count", "enough", "until"]

T = TypeVar("T")
S = TypeVar("S", bound=Sequence[object])


def until(look: Callable[[], T], seconds: float = 40, *, every: float = 0.1) -> T:
    """What is seen once it is true, or last if it is not in time: ``assert until(lambda: …)``.

    ``every``: seconds between two looks.
    """
    end = time.monotonic() + seconds
    while not (seen := look()) and time.monotonic() < end:
        time.sleep(every)
    return seen


def enough(look: Callable[[], S], count: int, seconds: float = 60) -> S:
    """What is there once there is so much; less if it does not come in time."""
    end = time.monotonic() + seconds
    while len(seen := look()) < count and time.monotonic() < end:
        time.sleep(0.2)
    return seen


def count(engine: Engine, topic: str) -> int:
    """How many records the topic has."""
    return sum(engine.kafka.offsets(engine.kafka.partitions([topic]), latest=True)[topic].values())
