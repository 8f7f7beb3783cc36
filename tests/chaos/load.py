"""The paced producer: what it sends follows from the seed, save the times, which are those of sending."""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from confluent_kafka import Producer

from ksqlpy.connection import KafkaConnection
from tests.chaos.jobs import Feed
from tests.chaos.records import Sent
from tests.harness.problem import HarnessProblem

__all__ = ["Load", "partition_of", "record"]

TICK = 0.01
"""Seconds between two looks at how many records are due."""
BURST = 10
"""How many times as many records some topics get in a burst."""
FLUSH = 120.0
"""Seconds that the broker gets to take what is left at the end."""


def partition_of(key: str, partitions: int) -> int:
    """The partition of a key: always the same one."""
    return zlib.crc32(key.encode()) % partitions


def record(feed: Feed, random: Random, number: int, partitions: int, *, scatter: bool) -> tuple[Sent, bytes]:
    """The record with that number, without its time, and its value.

    ``random``: of this feed alone. ``scatter``: partitions one after the other, unless the feed is keyed.
    """
    key = feed.key(random, number)
    partition = number % partitions if scatter and not feed.keyed else partition_of(key, partitions)
    value = json.dumps({"NUMBER": number, **feed.columns(number)}, separators=(",", ":"))
    return Sent(number, key, partition, 0), value.encode()


class Load:
    """Sends the records of all feeds, ``rate`` a second in all, from :meth:`start` to :meth:`finish`.

    The producer is idempotent: what it has sent lies in its topic once and in order, whatever happens to the broker.
    ``encode``: makes a value of the topic of its JSON. ``sent``: all records by topic, those of a partition in their
    order there.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        feeds: Sequence[Feed],
        *,
        rate: float,
        partitions: int,
        seed: int,
        scatter: bool,
        encode: Callable[[str, bytes], bytes],
    ) -> None:
        self._feeds = feeds
        self._encode = encode
        self._rate, self._partitions, self._scatter = rate, partitions, scatter
        self._randoms = {f.topic: Random(f"{seed} {f.topic}") for f in feeds}
        # Interleaved by chance, but in every round each feed has its share.
        self._round = [f for f in feeds for _ in range(f.share)]
        Random(seed).shuffle(self._round)
        self.sent: dict[str, list[Sent]] = {f.topic: [] for f in feeds}
        self._failures: list[str] = []
        self._producer = Producer(
            connection.producer(
                {
                    "enable.idempotence": True,
                    "linger.ms": 2,
                    "message.timeout.ms": 0,  # a broker that is away is waited for
                    "reconnect.backoff.max.ms": 500,
                    "queue.buffering.max.messages": 2_000_000,
                }
            )
        )
        self._more = 0.0  # until then, a burst
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)

    def preload(self) -> None:
        """Sends what must lie in the topics before the queries are made; raises as :meth:`finish`."""
        for feed in self._feeds:
            for _ in range(feed.preload):
                self._send(feed)
        self._flush()

    def start(self) -> None:
        """Begins to send, in a thread of its own."""
        self._thread.start()

    def burst(self, seconds: float) -> None:
        """Lets every second feed, one of two that are joined, have :data:`BURST` times its records for so long."""
        self._more = time.monotonic() + seconds
        time.sleep(seconds)

    def finish(self) -> None:
        """Stops sending and waits until the broker has taken all.

        Raises HarnessProblem ``load-not-sent``: then nothing can be said about results.
        """
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._flush()

    def _run(self) -> None:
        begin, done = time.monotonic(), 0
        try:
            while not self._stop.wait(TICK):
                due = int((time.monotonic() - begin) * self._rate)
                for i in range(done, due):
                    self._send(self._round[i % len(self._round)])
                if time.monotonic() < self._more:
                    for feed in self._feeds[::2]:
                        for _ in range(max(1, (due - done) * BURST // len(self._feeds))):
                            self._send(feed)
                done = max(done, due)
                self._producer.poll(0)
        except Exception as e:  # must come out where finish() is called
            self._failures.append(f"the producer ended: {e!r}")

    def _send(self, feed: Feed) -> None:
        sent = self.sent[feed.topic]
        made, value = record(feed, self._randoms[feed.topic], len(sent) + 1, self._partitions, scatter=self._scatter)
        data = self._encode(feed.topic, value)
        made = Sent(made.number, made.key, made.partition, int(time.time() * 1000))
        while True:
            try:
                self._producer.produce(
                    feed.topic,
                    key=made.key.encode(),
                    value=data,
                    partition=made.partition,
                    timestamp=made.time,
                    on_delivery=self._delivered,
                )
                break
            except BufferError:
                self._producer.poll(0.1)
        sent.append(made)

    def _delivered(self, error: Any, _: object) -> None:
        if error is not None:
            self._failures.append(str(error))

    def _flush(self) -> None:
        left = self._producer.flush(FLUSH)
        if left or self._failures:
            why = self._failures[0] if self._failures else f"{left} records wait for the broker"
            raise HarnessProblem("load-not-sent", f"the load could not be sent: {why}")
