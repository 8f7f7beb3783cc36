"""Recovery: Spark's JVM is killed with SIGKILL under load; when does the first new result come?"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import Producer, TopicPartition

from bench.beside import running
from bench.contenders import Contender, Run, spark_jvms
from bench.jobs import Job, bulk_producer, send
from ksqlpy.runtime import Engine
from tests.harness.together import kill_jvm

__all__ = ["Recovery", "large_state", "recover", "table"]

AFTER = 10.0
"""Seconds that the load goes on after the first new result."""
PATIENCE = 180.0
"""Seconds without what is waited for after which the run is given up."""


@dataclass(frozen=True)
class Recovery:
    """One kill. ``replayed``: records since the last checkpoint; seconds: ``up`` from the kill to the new JVM, from
    there ``live`` to the live query and ``first`` to the first result of a record that was sent after the kill.

    ``due``, ``out``, ``twice``: results of the whole run, and those that are there again; None where not counted.
    """

    what: str
    replayed: int
    up: float
    live: float
    first: float
    load: float
    due: int | None = None
    out: int | None = None
    twice: int | None = None


def recover(
    engine: Engine, who: Contender, job: Job, suffix: str, *, rate: int, interval: float, changed: bool = False
) -> Recovery:
    """Kills the JVM almost a checkpoint interval after a checkpoint; that many records a second all the time.

    ``changed``: half an interval before the kill, the job's tables are written again.
    """
    engine.execute(job.setup.format(n=suffix, p=1))
    job.send_tables(engine.bootstrap, suffix, int(time.time() * 1000))
    sink = f"O{suffix}"
    with who.run(engine, job, suffix, sink, quick=True) as run:
        run.wait()
        with _results(engine, sink) as results:
            with _load(engine, f"bench_s{suffix}", job.record, rate) as sent:
                committed = _next_boundary(run)
                if changed:
                    time.sleep(max(0.0, committed + interval / 2 - time.time()))
                    job.send_tables(engine.bootstrap, suffix, int(time.time() * 1000))
                time.sleep(max(0.0, committed + interval - 2 - time.time()))
                replayed = int((time.time() - committed) * rate)
                up, live, first = _kill(engine, sink, results)
                time.sleep(AFTER)
            _until(lambda: len(results) >= sent[0])
            time.sleep(1)
        times = [t for t, _ in results]
        return Recovery(
            f"{job.name}, tables changed" if changed else job.name, replayed, up, live, first, os.getloadavg()[0],
            sent[0], len(times), len(times) - len(set(times)),
        )  # fmt: skip


def large_state(engine: Engine, keys: int, kills: int) -> Iterator[str | Recovery]:
    """A GROUP BY with so many keys: what the JVM takes, then what recovery takes, again and again."""
    engine.execute(
        "CREATE STREAM KS (K STRING KEY, V INT, T DOUBLE)"
        " WITH (KAFKA_TOPIC='keys_s', VALUE_FORMAT='JSON', PARTITIONS=1);"
    )
    properties = {"auto.offset.reset": "earliest"}
    sql = "CREATE TABLE KT AS SELECT K, COUNT(*) AS N, MAX(T) AS T FROM KS GROUP BY K;"
    query_id = str(engine.execute(sql, properties)[0]["commandStatus"]["queryId"])
    producer = bulk_producer(engine.bootstrap)
    begin = time.monotonic()
    for i in range(keys):
        send(producer, "keys_s", b"key-%d" % i, b'{"V": %d, "T": 0.0}' % i)
    producer.flush()
    partitions = engine.kafka.partitions(["KT"])
    _until(lambda: sum(engine.kafka.offsets(partitions, latest=True)["KT"].values()), least=keys)
    read = time.monotonic() - begin
    query = engine.queries.get(query_id)
    assert query is not None
    last = query.checkpoint.last_commit or 0
    _until(lambda: (query.checkpoint.last_commit or 0) - last, least=2)
    memory = sum(p.memory_info().rss for p in spark_jvms(engine)) / 1e6
    yield f"{keys:,} keys after {read:.0f} s, JVM {memory:.0f} MB"

    def record(i: int, now: float) -> tuple[bytes, bytes]:
        return b"key-%d" % (i * 7919 % keys), json.dumps({"V": i, "T": now}).encode()

    for _ in range(kills):
        with _load(engine, "keys_s", record, 100), _results(engine, "KT") as results:
            _until(lambda: len(results), least=500)
            yield Recovery("GROUP BY", 0, *_kill(engine, "KT", results), os.getloadavg()[0])


def _kill(engine: Engine, sink: str, results: list[tuple[float, float]]) -> tuple[float, float, float]:
    [query_id] = engine.catalog.writers(sink)
    before, begin = engine.session, time.time()
    kill_jvm(engine)
    killed = time.time()  # until here results could come
    _until(lambda: engine.session is not before)
    up = time.time()
    _until(lambda: (query := engine.queries.get(query_id)) is not None and query.live.is_set())
    live = time.time()
    _until(lambda: any(sent > killed for sent, _ in results[-1:]))
    first = next(came for sent, came in results if sent > killed)
    return up - begin, live - up, first - up


def _next_boundary(run: Run) -> float:
    begin = time.time()
    _until(lambda: any(b > begin for b in run.boundaries()))
    return max(run.boundaries())


def _until(done: Callable[[], int], least: int = 1) -> None:
    """Returns when the number is that large; raises TimeoutError if it stays as it is for too long."""
    seen, moved = -1, time.monotonic()
    while (now := done()) < least:
        if now != seen:
            seen, moved = now, time.monotonic()
        elif time.monotonic() - moved > PATIENCE:
            raise TimeoutError(f"{now} of {least}, and no more come")
        time.sleep(0.02)


@contextmanager
def _load(
    engine: Engine, topic: str, record: Callable[[int, float], tuple[bytes, bytes]], rate: int
) -> Iterator[list[int]]:
    """Sends records all the time; gives how many, in a list of one."""
    producer = Producer({"bootstrap.servers": engine.bootstrap})  # as clients are by default: 5 ms until a request
    sent = [0]

    def produce(over: threading.Event) -> None:
        begin = time.time()
        while not over.is_set():
            wait = begin + sent[0] / rate - time.time()
            if wait > 0:
                time.sleep(wait)
            key, value = record(sent[0], time.time())
            producer.produce(topic, key=key, value=value)
            producer.poll(0)
            sent[0] += 1
        producer.flush()

    with running(produce):
        yield sent


@contextmanager
def _results(engine: Engine, topic: str) -> Iterator[list[tuple[float, float]]]:
    """When the record of each new result was sent, and when the result came."""
    results: list[tuple[float, float]] = []
    end = engine.kafka.offsets(engine.kafka.partitions([topic]), latest=True)[topic]["0"]
    consumer = engine.kafka.reader()
    consumer.assign([TopicPartition(topic, 0, end)])

    def read(over: threading.Event) -> None:
        while not over.is_set():
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                results.append((json.loads(message.value() or b"{}")["T"], time.time()))
        consumer.close()

    with running(read):
        yield results


def table(recoveries: list[Recovery]) -> str:
    """The figures, a row a kill."""
    head = f"{'replayed':>9} {'JVM up (s)':>11} {'live (s)':>9} {'first new (s)':>14} {'load':>5}   in, out, twice"
    lines = [f"{'job':33} {head}"]
    for r in recoveries:
        counts = f"{r.due:,}, {r.out:,}, {r.twice:,}" if r.due is not None else ""
        lines.append(f"{r.what:33} {r.replayed:9,} {r.up:11.1f} {r.live:9.1f} {r.first:14.1f} {r.load:5.1f}   {counts}")
    return "\n".join(lines)
