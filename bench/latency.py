"""Latency: from a record produced to its result consumed, every record counted, over several checkpoints."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka import Producer, TopicPartition

from bench.jobs import Job
from ksqlpy.runtime import Engine

__all__ = ["Latency", "measure"]


@dataclass(frozen=True)
class Latency:
    """Milliseconds from produce to consume, and how many records went in and came out."""

    job: str
    sent: int
    received: int
    millis: Sequence[float]

    def quantile(self, q: float) -> float:
        """The latency below which a share ``q`` of the records lies."""
        return self.millis[min(len(self.millis) - 1, int(len(self.millis) * q))]

    def line(self) -> str:
        """One row of the table."""
        cells = " ".join(f"{self.quantile(q):8.1f}" for q in (0.5, 0.9, 0.99, 0.999))
        return f"{self.job:20} {self.sent:8} {self.received:8} {cells} {self.millis[-1]:8.1f}"


HEADER = f"{'job':20} {'in':>8} {'out':>8} {'p50':>8} {'p90':>8} {'p99':>8} {'p99.9':>8} {'max':>8}   (ms)"


def measure(engine: Engine, job: Job, suffix: str, *, rate: int, seconds: float, partitions: int = 1) -> Latency:
    """Runs a job for that long at that many records a second, from its first record on."""
    engine.execute(job.setup.format(n=suffix, p=partitions))
    producer = Producer({"bootstrap.servers": engine.bootstrap, "linger.ms": 0})
    if job.table:
        for key, value in job.table_records():
            producer.produce(f"bench_d{suffix}", key=key, value=value)
        producer.flush()
    [entity] = engine.execute(job.query.format(n=suffix), {"auto.offset.reset": "earliest"})
    query_id = entity["commandStatus"]["queryId"]
    running = engine.queries.get(query_id)
    assert running is not None
    running.live.wait(60)
    time.sleep(3)  # the first batch of real-time mode has to be set up before steady state is measured

    latencies: list[float] = []
    done = threading.Event()
    reader = threading.Thread(target=_read, args=(engine, f"O{suffix}", partitions, latencies, done))
    reader.start()
    begin = time.time()
    count = int(rate * seconds)
    for i in range(count):
        wait = begin + i / rate - time.time()
        if wait > 0:
            time.sleep(wait)
        key, value = job.record(i, time.time())
        producer.produce(f"bench_s{suffix}", key=key, value=value)
        producer.poll(0)
    producer.flush()
    deadline = time.time() + 20
    while len(latencies) < count and time.time() < deadline:
        time.sleep(0.1)
    done.set()
    reader.join()
    engine.execute(f"TERMINATE {query_id};")
    return Latency(job.name, count, len(latencies), sorted(latencies))


def _read(engine: Engine, topic: str, partitions: int, latencies: list[float], done: threading.Event) -> None:
    consumer = engine.kafka.reader()
    consumer.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
    while not done.is_set():
        message = consumer.poll(0.2)
        if message is None or message.error() is not None:
            continue
        now = time.time()
        latencies.append((now - json.loads(message.value() or b"{}")["T"]) * 1000)
    consumer.close()
