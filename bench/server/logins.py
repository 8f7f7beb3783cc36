"""1,000 attempts a second to log in with wrong passwords, beside a query: its latency with them and without.

They come from 64 addresses and have as many names, so that not only the limit of one address holds them back. Who
sends them is a process of its own: this one times the records.
"""

from __future__ import annotations

import base64
import json
import multiprocessing
import threading
import time
from collections import Counter
from collections.abc import Iterator

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.latency import quantile
from bench.server.load import even, request
from bench.server.rig import Guarded, Rig, spread, told

__all__ = ["logins"]

RATE = 500
"""Records a second."""
ATTEMPTS = 1_000
ADDRESSES = [f"127.0.1.{n}" for n in range(1, 65)]
WARM_UP = 20.0
"""Seconds of records ahead of the rounds: a JVM compiles what the query runs."""
PATIENCE = 120.0
"""Seconds until the query gives results."""
APART = 1.0
"""Seconds of records that are not counted at the begin of each round."""


def logins(rig: Rig) -> Iterator[str]:
    """One line, and what the attempts were answered."""
    taken: dict[bool, list[float]] = {False: [], True: []}
    codes: Counter[int] = Counter()
    with rig.serve("logins", kind=Guarded) as server, multiprocessing.get_context("spawn").Pool(1) as pool:
        server.statements(
            "CREATE STREAM L (K STRING KEY, V INT, T DOUBLE)"
            " WITH (KAFKA_TOPIC='bench_l', VALUE_FORMAT='JSON', PARTITIONS=1);"
            "CREATE STREAM LO AS SELECT K, V, T FROM L WHERE V >= 0;"
        )
        pool.apply(_attack, (server.url, 0.1))  # the child is there from now on
        with _Timed(rig.bootstrap) as timed:
            timed.wait()
            time.sleep(min(WARM_UP, 2 * rig.seconds))
            for number in range(rig.rounds):
                for attacked in (False, True)[:: 1 if number % 2 == 0 else -1]:
                    begin = time.time() + APART
                    if attacked:
                        codes += pool.apply(_attack, (server.url, rig.seconds))
                    else:
                        time.sleep(rig.seconds)
                    taken[attacked] += timed.between(begin, time.time())
    yield told(
        f"a query at {RATE} records/s, with {ATTEMPTS:,} wrong logins/s: {spread(taken[True])}; without:"
        f" {spread(taken[False])}; ratio of p99"
        f" {quantile(sorted(taken[True]), 0.99) / quantile(sorted(taken[False]), 0.99):.2f}",
        "p99 does not move",
    )
    yield f"  the attempts were answered {', '.join(f'{code}: {n:,}' for code, n in sorted(codes.items()))}"


def _attack(url: str, seconds: float) -> Counter[int]:
    """Attempts, each with another password; gives the codes of the answers."""

    def made(number: int) -> bytes:
        login = base64.b64encode(b"user%d:wrong %d" % (number % len(ADDRESSES), number)).decode()
        return request("GET", "/info", headers={"Authorization": f"Basic {login}"})

    found = even(url, made, rate=ATTEMPTS, seconds=seconds, connections=len(ADDRESSES), local=ADDRESSES)
    return found.codes


class _Timed:
    """Records that go into the topic all the time, and when their results came; a context manager."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
        settings = {"bootstrap.servers": bootstrap, "group.id": "bench_l", "enable.auto.commit": False}
        self._consumer = Consumer({**settings, "fetch.wait.max.ms": 5, "fetch.queue.backoff.ms": 5})
        self._ended = threading.Event()
        self._samples: list[tuple[float, float]] = []
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._send, self._read)]

    def wait(self) -> None:
        """Returns when the query gives results."""
        end = time.time() + PATIENCE
        while not self._samples:
            if time.time() > end:
                raise RuntimeError(f"the query gives no results within {PATIENCE:g} s")
            time.sleep(0.1)

    def between(self, begin: float, end: float) -> list[float]:
        """The latencies (ms) of records that were sent between two times. Raises RuntimeError where they lack."""
        deadline = time.time() + 30
        while not self._samples or self._samples[-1][0] < end:
            if time.time() > deadline:
                raise RuntimeError("results do not come")
            time.sleep(0.1)
        found = [ms for at, ms in self._samples if begin <= at < end]
        if len(found) < (end - begin) * RATE * 0.95:
            raise RuntimeError(f"{len(found):,} results in {end - begin:.1f} s")
        return found

    def _send(self) -> None:
        begin, sent = time.time(), 0
        while not self._ended.wait(max(0.0, begin + sent / RATE - time.time())):
            value = json.dumps({"V": sent, "T": time.time()}).encode()
            self._producer.produce("bench_l", key=b"k%d" % (sent % 50), value=value)
            self._producer.poll(0)
            sent += 1

    def _read(self) -> None:
        self._consumer.assign([TopicPartition("LO", 0, 0)])
        while not self._ended.is_set():
            message = self._consumer.poll(0.2)
            if message is not None and message.error() is None:
                now, sent = time.time(), json.loads(message.value() or b"{}")["T"]
                self._samples.append((sent, (now - sent) * 1000))

    def __enter__(self) -> _Timed:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()
        self._producer.flush(5)
        self._consumer.close()
