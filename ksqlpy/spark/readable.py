"""What a query can still read of what is behind its checkpoint: records that are gone, or not stable yet."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from ksqlpy.spark.failure import Failure
from ksqlpy.spark.kafka import Kafka
from ksqlpy.spark.once import Offsets

__all__ = ["wait_until_stable"]

_LOOK = 1.0
"""Seconds between two looks whether a transaction is over."""


def wait_until_stable(
    kafka: Kafka,
    partitions: Mapping[str, int],
    read: Offsets,
    stopping: threading.Event,
    tell: Callable[[Failure], None],
) -> None:
    """Waits while a transaction is open that begins ahead of where the query has read on.

    That is so where it had read uncommitted records before (``isolation.level``, or an older version). A micro-batch
    would end ahead of where it begins, and what is between would be read twice. The brokers end every transaction, by
    its ``transaction.timeout.ms``. ``tell``: is given the reason.
    """
    known = {t: n for t, n in partitions.items() if t in read}
    while not stopping.is_set():
        stable = kafka.offsets(known, latest=True, committed=True)
        behind = {(t, p) for t, offsets in stable.items() for p, o in offsets.items() if o < read[t].get(p, 0)}
        if not behind:
            return
        ends = kafka.offsets(known, latest=True)
        behind = {(t, p) for t, p in behind if stable[t][p] < ends[t][p]}  # else the topic itself is shorter
        if not behind:
            return
        places = ", ".join(f"partition {p} of topic {t}" for t, p in sorted(behind))
        said = f"it waits for the end of a transaction of which it has read records: {places}"
        tell(Failure(time.time(), "USER", said))
        stopping.wait(_LOOK)
