"""The latency of a persistent query while a page shows its results by a push query, beside that without a page."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.beside import running
from bench.latency import quantile
from bench.page.browsers import Bench, browser, told, visit
from bench.page.rows import run

__all__ = ["query"]

PHASES = (False, True, True, False) * 3
"""Whether the page is there, in an order that a drift meets alike."""
PHASE = 30.0
"""Seconds that are counted: as long as from one checkpoint to the next, whose stall is about a hundredth of it."""
SETTLE = 5.0
"""Seconds ahead of them."""
WARM = 90.0
"""Seconds of records ahead of the first phase: stalls at the first checkpoints are longer."""
SHARE = 10
"""The query gets so many times fewer records than the grid of ``rows``."""

MADE = """
CREATE STREAM q_in (k STRING KEY, sent BIGINT) WITH (KAFKA_TOPIC='q_in', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM q_out WITH (KAFKA_TOPIC='q_out') AS SELECT k, sent FROM q_in WHERE sent > 0;
"""


def query(bench: Bench) -> Iterator[str]:
    """One line."""
    rate = max(1, bench.rate // SHARE)
    p99s: dict[bool, list[float]] = {False: [], True: []}
    with bench.serve("query") as server, browser() as opened:
        server.statements(MADE)
        seen = _Latencies(bench.bootstrap)
        with running(lambda over: _produce(bench.bootstrap, rate, over)), running(seen.read):
            time.sleep(WARM)
            for shown in PHASES:
                page = visit(opened, f"{server.url}/ui/")
                if shown:
                    run(page, "SET 'auto.offset.reset' = 'latest'; SELECT * FROM q_out EMIT CHANGES;")
                else:
                    page.context.close()
                time.sleep(SETTLE)
                seen.begin()
                time.sleep(PHASE)
                p99s[shown].append(seen.p99())
                if shown:
                    page.context.close()
    without, with_ = (statistics.median(p99s[shown]) for shown in (False, True))
    each = "; ".join(" ".join(f"{ms:.1f}" for ms in p99s[shown]) for shown in (False, True))
    what = f"p99 of a filter at {rate:,} records/s: {without:.1f} ms without a page, {with_:.1f} ms with its push query"
    yield told(f"{what}: {with_ / without - 1:+.0%} (medians of {each})", "at most +10 %")


def _produce(bootstrap: str, rate: int, over: threading.Event) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    began, sent = time.monotonic(), 0
    while not over.wait(max(0.0, began + sent / rate - time.monotonic())):
        producer.produce("q_in", key=b"k%d" % (sent % 50), value=b'{"SENT":%d}' % time.time_ns())
        producer.poll(0)
        sent += 1
    producer.flush(10)


class _Latencies:
    """Reads results as they come; ms from the record to its result."""

    def __init__(self, bootstrap: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "bench-page",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 10,
            }
        )
        self._millis: list[float] = []

    def read(self, over: threading.Event) -> None:
        self._consumer.assign([TopicPartition("q_out", 0, 0)])
        while not over.is_set():
            message = self._consumer.poll(0.05)  # one at a time: a bunch would be waited for
            value = message.value() if message is not None and message.error() is None else None
            if isinstance(value, bytes):
                self._millis.append((time.time_ns() - int(value[len(b'{"SENT":') : -1])) / 1e6)
        self._consumer.close()

    def begin(self) -> None:
        self._millis = []

    def p99(self) -> float:
        found = sorted(self._millis)
        if not found:
            raise RuntimeError("the query has given no results")
        return quantile(found, 0.99)
