"""The jobs that are measured, and the records they are fed."""

from __future__ import annotations

import json
from dataclasses import dataclass

from confluent_kafka import Producer

__all__ = ["JOBS", "Job", "bulk_producer", "send"]

KEYS = 50
GROUPS = 10


def bulk_producer(bootstrap: str) -> Producer:
    """A producer for a backlog: throughput over latency."""
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 20,
            "batch.size": 512 * 1024,
            "queue.buffering.max.messages": 500_000,
        }
    )


def send(producer: Producer, topic: str, key: bytes, value: bytes | None, at: int = 0) -> None:
    """Writes a record, and waits where the producer's buffer is full; ``at``: its time in ms, 0 for now."""
    while True:
        try:
            producer.produce(topic, key=key, value=value, timestamp=at)
            return
        except BufferError:
            producer.poll(0.05)


@dataclass(frozen=True)
class Job:
    """One query: its statements, with ``{n}`` for the suffix of its sources and ``{o}`` for its sink, and what is sent.

    ``tables``: the tables beside the source, whose topics are ``bench_d{n}`` and ``bench_e{n}``; ``results``: how many
    results each record gives; ``timed``: whether results carry the time at which their record was sent (``T``,
    seconds), so that their latency can be measured. ``bench/peers`` knows the jobs by their names.
    """

    name: str
    setup: str
    query: str
    tables: str = ""
    results: int = 1
    timed: bool = False

    def record(self, i: int, now: float) -> tuple[bytes, bytes]:
        """Key and value of the i-th record."""
        return b"k%d" % (i % KEYS), json.dumps({"V": i, "T": now}).encode()

    def backlog_record(self, i: int) -> tuple[bytes, bytes]:
        """Key and value (some 80 bytes) of the i-th record of a backlog; a part of it nobody reads, as is usual."""
        key = i % KEYS
        value = b'{"V": %d, "T": %.6f, "NOTE": "not a column", "G": "g%d"}' % (i, 1.7e9 + i / 1000, key % GROUPS)
        return b"k%d" % key, value

    @property
    def kind(self) -> str:
        """What the query makes: STREAM or TABLE."""
        return self.query.split()[1]

    def send_tables(self, bootstrap: str, suffix: str, at: int) -> None:
        """Writes what the tables hold before the first record, if the job has any; ``at``: their time, in ms."""
        producer = Producer({"bootstrap.servers": bootstrap})
        for table in self.tables:
            for i in range(KEYS):
                value = json.dumps({"NAME": f"name {i % 7}"}).encode()
                producer.produce(f"bench_{table}{suffix}", key=b"k%d" % i, value=value, timestamp=at)
        producer.flush()


def _source(kind: str, key: str, topic: str, columns: str) -> str:
    name = topic.upper()
    with_ = f"WITH (KAFKA_TOPIC='bench_{topic}{{n}}', VALUE_FORMAT='JSON', PARTITIONS={{p}});"
    return f"CREATE {kind} {name}{{n}} (K STRING {key}, {columns}) {with_}"


_STREAM = _source("STREAM", "KEY", "s", "V INT, T DOUBLE")
_CHANGES = _source("TABLE", "PRIMARY KEY", "s", "V INT, T DOUBLE, G STRING")
_D, _E = (_source("TABLE", "PRIMARY KEY", t, "NAME STRING") for t in "de")

JOBS = (
    Job("filter + project", _STREAM, "CREATE STREAM {o} AS SELECT K, V, T FROM S{n} WHERE V >= 0;", timed=True),
    Job(
        "GROUP BY",
        _STREAM,
        "CREATE TABLE {o} AS SELECT K, COUNT(*) AS N, MAX(T) AS T FROM S{n} GROUP BY K;",
        timed=True,
    ),
    Job(
        "stream-table join",
        _STREAM + _D,
        "CREATE STREAM {o} AS SELECT S{n}.K AS K, V, T, NAME FROM S{n} JOIN D{n} ON S{n}.K = D{n}.K;",
        tables="d",
        timed=True,
    ),
    Job(
        "hopping count",
        _STREAM,
        "CREATE TABLE {o} AS SELECT K, COUNT(*) AS N, MAX(T) AS T FROM S{n}"
        " WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS, GRACE PERIOD 1 MINUTE) GROUP BY K;",
        results=2,
    ),
    Job(
        "table-table join",
        _CHANGES + _D,
        "CREATE TABLE {o} AS SELECT S{n}.K AS K, V, T, NAME FROM S{n} JOIN D{n} ON S{n}.K = D{n}.K;",
        tables="d",
    ),
    Job(
        "table aggregate",
        _CHANGES,
        "CREATE TABLE {o} AS SELECT G, COUNT(*) AS N, SUM(V) AS V FROM S{n} GROUP BY G;",
    ),
    Job(
        "three-way join",
        _STREAM + _D + _E,
        "CREATE STREAM {o} AS SELECT S{n}.K AS K, V, T, D{n}.NAME AS NAME, E{n}.NAME AS OTHER FROM S{n}"
        " JOIN D{n} ON S{n}.K = D{n}.K JOIN E{n} ON S{n}.K = E{n}.K;",
        tables="de",
    ),
)
