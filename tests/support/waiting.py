"""How tests wait for what a server, an engine or a thread does, and look at its topics.

They wait long: a machine may be many times slower than another, and only a test that fails waits to the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

    from ksqlpy.runtime import Engine

__all__ = ["count", "enough", "messages", "until"]

T = TypeVar("T")
S = TypeVar("S", bound=Sequence[object])


def until(look: Callable[[], T], seconds: float = 150, *, every: float = 0.1) -> T:
    """What is seen once it is true, or last if it is not in time: ``assert until(lambda: …)``.

    ``every``: seconds between two looks.
    """
    end = time.monotonic() + seconds
    while not (seen := look()) and time.monotonic() < end:
        time.sleep(every)
    return seen


def enough(look: Callable[[], S], count: int, seconds: float = 180) -> S:
    """What is there once there is so much; less if it does not come in time."""
    end = time.monotonic() + seconds
    while len(seen := look()) < count and time.monotonic() < end:
        time.sleep(0.2)
    return seen


def messages(consumer: Consumer, count: int, seconds: float = 180, *, quiet: float = 0) -> list[Message]:
    """What comes until it is so much, and nothing has come for ``quiet`` seconds; less if it does not come in time.

    The consumer, which has its partitions, is closed.
    """
    found: list[Message] = []
    end, last = time.monotonic() + seconds, time.monotonic()
    while time.monotonic() < end and (len(found) < count or time.monotonic() - last < quiet):
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            found.append(message)
            last = time.monotonic()
    consumer.close()
    return found


def count(engine: Engine, topic: str) -> int:
    """How many records the topic has."""
    return sum(engine.kafka.offsets(engine.kafka.partitions([topic]), latest=True)[topic].values())
