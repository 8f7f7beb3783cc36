"""The latency of a persistent query while a page shows its results by a push query, beside that without a page.

And beside that with a client which asks the same as the page and shows nothing: what the page adds to that is the
browser's own work, which is here on the processors of the server. The page is measured a second time with a browser of
the lowest priority, which takes from the query about as little as one on another machine.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.beside import running
from bench.latency import quantile
from bench.page.browsers import Bench, browser, browser_last, told, visit
from bench.page.rows import run

__all__ = ["query"]

KINDS = {
    "nobody": "without a reader",
    "client": "with a client",
    "page": "with the page",
    "last": "with the page in a browser of the lowest priority",
}
"""Who reads the results by a push query."""
PHASES = ("nobody", "client", "page", "last", "last", "page", "client", "nobody") * 2
"""Who reads them when, in an order that a drift meets alike."""
PHASE = 30.0
"""Seconds that are counted: as long as from one checkpoint to the next, whose stall is about a hundredth of it."""
SETTLE = 5.0
"""Seconds ahead of them."""
WARM = 90.0
"""Seconds of records ahead of the first phase: stalls at the first checkpoints are longer."""
SHARE = 10
"""The query gets so many times fewer records than the grid of ``rows``."""

QUERY = "SELECT * FROM q_out EMIT CHANGES;"
LATEST = {"auto.offset.reset": "latest"}

MADE = """
CREATE STREAM q_in (k STRING KEY, sent BIGINT) WITH (KAFKA_TOPIC='q_in', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM q_out WITH (KAFKA_TOPIC='q_out') AS SELECT k, sent FROM q_in WHERE sent > 0;
"""


def query(bench: Bench) -> Iterator[str]:
    """Three lines: what the page adds, with and without processor time of its own, and what a client adds."""
    rate = max(1, bench.rate // SHARE)
    p99s: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with bench.serve("query") as server, browser() as opened:
        server.statements(MADE)
        seen = _Latencies(bench.bootstrap)
        with running(lambda over: _produce(bench.bootstrap, rate, over)), running(seen.read):
            time.sleep(WARM)
            for kind in PHASES:
                with ExitStack() as reading:
                    if kind == "last":
                        reading.enter_context(browser_last())
                    if kind in ("page", "last"):
                        page = visit(opened, f"{server.url}/ui/")
                        reading.callback(page.context.close)
                        run(page, f"SET 'auto.offset.reset' = 'latest'; {QUERY}")
                    elif kind == "client":
                        reading.enter_context(running(partial(_client, server.url)))
                    time.sleep(SETTLE)
                    seen.begin()
                    time.sleep(PHASE)
                    p99s[kind].append(seen.p99())
    alone = statistics.median(p99s["nobody"])
    for kind, wanted in (("last", "at most +10 %"), ("page", ""), ("client", "")):
        others = statistics.median(p99s[kind])
        what = f"p99 of a filter at {rate:,} records/s: {alone:.1f} ms {KINDS['nobody']}, {others:.1f} ms {KINDS[kind]}"
        each = "; ".join(" ".join(f"{ms:.1f}" for ms in p99s[k]) for k in ("nobody", kind))
        yield told(f"{what}: {others / alone - 1:+.0%} (medians of {each})", wanted)


def _client(url: str, over: threading.Event) -> None:
    """Asks as the page does, and takes what comes."""
    body = {"sql": QUERY, "properties": {**LATEST, "ksqlpy.query.push.linger.ms": "100"}}
    accept = {"Content-Type": "application/json", "Accept": "application/vnd.ksqlapi.delimited.v1"}
    with contextlib.closing(http.client.HTTPConnection(url.partition("//")[2])) as connection:
        connection.request("POST", "/query-stream", json.dumps(body), accept)
        with connection.getresponse() as answer:
            while not over.is_set():
                answer.read1(2**16)


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
