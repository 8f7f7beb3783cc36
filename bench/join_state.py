"""The state of a join of streams: millions of rows within the window, then windows that pass: does it shrink?"""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench.churn import caught_up, state_line, two_commits
from bench.jobs import bulk_producer, send
from ksqlpy.runtime import Engine

__all__ = ["join_state"]

HOUR = 3_600_000
LATER = 200_000
"""Records that move stream time on, by eight hours in all."""

_SOURCES = """
CREATE STREAM JL (K STRING KEY, V INT, W STRING) WITH (KAFKA_TOPIC='join_l', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM JR (K STRING KEY, V INT, W STRING) WITH (KAFKA_TOPIC='join_r', VALUE_FORMAT='JSON', PARTITIONS=1);
"""
_QUERY = """
CREATE STREAM JO AS SELECT JL.K AS K, JL.V AS V, JR.W AS W
  FROM JL JOIN JR WITHIN 2 HOURS GRACE PERIOD 0 SECONDS ON JL.K = JR.K;
"""


def join_state(engine: Engine, rows: int) -> Iterator[str]:
    """Joins so many rows of both sides that all lie within the window, then eight hours of few; gives lines as it goes.

    Each two rows have one key, and a result.
    """
    engine.execute(_SOURCES)
    query = str(engine.execute(_QUERY, {"auto.offset.reset": "earliest"})[0]["commandStatus"]["queryId"])
    running = engine.queries.get(query)
    assert running is not None and running.live.wait(60)
    yield f"{'rows so far':>12} {'seconds':>8} {'JVM (MB)':>9}   state in the checkpoint (MB)"
    producer = bulk_producer(engine.bootstrap)
    begin, start = time.monotonic(), int(time.time() * 1000) - 24 * HOUR
    total = rows + LATER
    for i in range(total):
        at = start + i * HOUR // rows if i < rows else start + HOUR + (i - rows) * 8 * HOUR // LATER
        send(producer, "join_r" if i % 2 else "join_l", b"k%d" % (i // 2), b'{"V": %d, "W": "some words"}' % i, at)
        if (i + 1) % (rows // 10) == 0 or i + 1 == total:
            producer.flush()
            caught_up(engine, [query], "JO", (i + 1) // 2)
            yield state_line(engine, {"join": query}, i + 1, time.monotonic() - begin)
            if i + 1 in (rows, total):
                two_commits(engine, [query])
                yield f"{state_line(engine, {'join': query}, i + 1, time.monotonic() - begin)}   after two commits"
    # Versions of the state that a restart may still need go with the next commits.
    for _ in range(3):
        two_commits(engine, [query])
    yield f"{state_line(engine, {'join': query}, total, time.monotonic() - begin)}   eight hours later"
