"""Pauses: what share of a stream-stream LEFT JOIN's final results is wrong behind a stopped process, broker, or burst.

Each row has a partner of the same time in the other topic, so a result without one is wrong. Nothing here is a speed.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import psutil
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from bench.contenders import Contender, Run
from bench.jobs import LEFT_JOIN, bulk_producer
from ksqlpy.runtime import Engine

__all__ = ["KINDS", "Pause", "measure", "table"]

PARTITIONS = 4
RATE = 400
"""Pairs a second."""
BEFORE, PAUSE, AFTER = 8.0, 10.0, 12.0
"""Seconds of records before, in and behind a pause."""
LATER = 60_000
"""Milliseconds by which the last records, which close all windows, are behind the others."""
QUIET = 20.0
"""Seconds without a result after which no more are expected."""
BURST = -1
"""``V`` of records of a burst, which have no partner."""

KINDS = {
    "process stopped": "the JVM gets SIGSTOP, and goes on 10 s later",
    "broker stopped": "the broker gets SIGSTOP, and goes on 10 s later",
    "burst": "the left topic gets as many records more as a producer can write, for 10 s",
}


@dataclass(frozen=True)
class Pause:
    """How one run went: rows, those of them whose only result has no partner, and those without a result.

    ``doubled``: rows with more than one result; ``burst``: records of a burst; ``load``: of the machine at the end.
    """

    kind: str
    who: Contender
    rows: int
    alone: int
    doubled: int
    missing: int
    burst: int
    load: float

    @property
    def wrong(self) -> float:
        """The share of rows whose results are wrong."""
        return (self.alone + self.doubled + self.missing) / self.rows


def measure(engine: Engine, who: Contender, kind: str, suffix: str) -> Pause:
    """Runs the join by one contender, with one kind of pause."""
    engine.execute(LEFT_JOIN.setup.format(n=suffix, p=PARTITIONS))
    sink = f"P{suffix}"
    with who.run(engine, LEFT_JOIN, suffix, sink, quick=True) as run:
        run.wait()
        stop = threading.Event()
        sent: list[int] = []
        feed = threading.Thread(target=_feed, args=(engine.bootstrap, suffix, stop, sent), daemon=True)
        feed.start()
        time.sleep(BEFORE)
        burst = 0
        if kind == "burst":
            burst = _burst(engine.bootstrap, suffix)
        else:
            with _stopped(run.processes() if kind == "process stopped" else _brokers()):
                time.sleep(PAUSE)
        time.sleep(AFTER)
        stop.set()
        feed.join()
        found = _results(engine.bootstrap, sink, run)
    of: dict[int, list[bool]] = {}
    for number, paired in found:
        if number >= 0:
            of.setdefault(number, []).append(paired)
    alone = sum(results == [False] for results in of.values())
    doubled = sum(len(results) > 1 for results in of.values())
    load = os.getloadavg()[0]
    return Pause(kind, who, sent[0], alone, doubled, sent[0] - len(of), burst, load)


@contextlib.contextmanager
def _stopped(processes: Sequence[psutil.Process]) -> Iterator[None]:
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGCONT)


def _brokers() -> Sequence[psutil.Process]:
    """The broker of the engine, a child of this process."""
    return [p for p in psutil.Process().children(recursive=True) if "kafka.Kafka" in p.cmdline()]


def _feed(bootstrap: str, suffix: str, stop: threading.Event, sent: list[int]) -> None:
    """Sends pairs until it is to stop; then some that are later, so that all windows close."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    begin, number = time.time(), 0
    while not stop.is_set():
        for _ in range(int((time.time() - begin) * RATE) - number):
            _pair(producer, suffix, number, int(time.time() * 1000))
            number += 1
        producer.poll(0)
        time.sleep(0.002)
    producer.flush()
    sent.append(number)
    for i in range(PARTITIONS):
        for topic in "sr":
            value = json.dumps({"V": BURST, "T": None}).encode()
            at = int(time.time() * 1000) + LATER
            producer.produce(f"bench_{topic}{suffix}", value, b"later", partition=i, timestamp=at)
    producer.flush()


def _pair(producer: Producer, suffix: str, number: int, at: int) -> None:
    value = json.dumps({"V": number, "T": at / 1000}).encode()
    for topic in "sr":
        producer.produce(f"bench_{topic}{suffix}", value, b"k%d" % number, timestamp=at)


def _burst(bootstrap: str, suffix: str) -> int:
    producer = bulk_producer(bootstrap)
    end, number = time.monotonic() + PAUSE, 0
    value = json.dumps({"V": BURST, "T": None}).encode()
    while time.monotonic() < end:
        try:
            producer.produce(f"bench_s{suffix}", value, b"x%d" % number, timestamp=int(time.time() * 1000))
            number += 1
        except BufferError:
            producer.poll(0.05)
    producer.flush()
    return number


def _results(bootstrap: str, sink: str, run: Run) -> list[tuple[int, bool]]:
    """All results: the number of the row, and whether it has its partner."""
    settings = {
        "bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False,
        "isolation.level": "read_committed", "enable.partition.eof": True,
    }  # fmt: skip
    consumer = Consumer(settings)
    places = consumer.list_topics(sink, timeout=30).topics[sink].partitions
    consumer.assign([TopicPartition(sink, p, 0) for p in places])
    found: list[tuple[int, bool]] = []
    last = time.monotonic()
    try:
        while time.monotonic() < last + QUIET:
            run.check()
            for message in consumer.consume(10_000, 1.0):
                error = message.error()
                if error is not None:
                    if error.code() != KafkaError._PARTITION_EOF:
                        raise RuntimeError(f"{sink}: {error}")
                    continue
                row = json.loads(message.value() or b"{}")
                found.append((int(row["V"]), row["T"] is not None))
                last = time.monotonic()
    finally:
        consumer.close()
    return found


def table(pauses: Sequence[Pause]) -> str:
    """The runs as a table of Markdown."""
    lines = [
        "| pause | who | rows | without their partner | doubled | missing | wrong | load |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for p in pauses:
        kind = f"{p.kind} ({p.burst:,} records)" if p.burst else p.kind
        lines.append(
            f"| {kind} | {p.who.name} | {p.rows:,} | {p.alone:,} | {p.doubled:,} | {p.missing:,} | {p.wrong:.2%} |"
            f" {p.load:.1f} |"
        )
    return "\n".join(lines)
