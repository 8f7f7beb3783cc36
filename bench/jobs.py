"""The three jobs that are measured, and the records they are fed."""

from __future__ import annotations

import json
from dataclasses import dataclass

from confluent_kafka import Producer

__all__ = ["JOBS", "Job"]

KEYS = 50


@dataclass(frozen=True)
class Job:
    """One query: its statements, with ``{n}`` for the suffix of its sources and ``{o}`` for its sink, and what is sent.

    Every record carries the time at which it was sent (``T``, seconds); every result carries it on. Every record gives
    one result. ``bench/peers`` knows the jobs by their names.
    """

    name: str
    setup: str
    query: str
    table: bool = False

    def record(self, i: int, now: float) -> tuple[bytes, bytes]:
        """Key and value of the i-th record."""
        return b"k%d" % (i % KEYS), json.dumps({"V": i, "T": now}).encode()

    def backlog_record(self, i: int) -> tuple[bytes, bytes]:
        """Key and value (75 bytes) of the i-th record of a backlog; a part of it nobody reads, as is usual."""
        value = b'{"V": %d, "T": %.6f, "NOTE": "not a column of its stream"}' % (i, 1.7e9 + i / 1000)
        return b"k%d" % (i % KEYS), value

    @property
    def kind(self) -> str:
        """What the query makes: STREAM or TABLE."""
        return self.query.split()[1]

    def send_table(self, bootstrap: str, suffix: str) -> None:
        """Writes what the table holds before the first record, if the job has one."""
        if not self.table:
            return
        producer = Producer({"bootstrap.servers": bootstrap})
        for i in range(KEYS):
            value = json.dumps({"NAME": f"name {i % 7}"}).encode()
            producer.produce(f"bench_d{suffix}", key=b"k%d" % i, value=value)
        producer.flush()


_STREAM = (
    "CREATE STREAM S{n} (K STRING KEY, V INT, T DOUBLE)"
    " WITH (KAFKA_TOPIC='bench_s{n}', VALUE_FORMAT='JSON', PARTITIONS={p});"
)
_TABLE = (
    "CREATE TABLE D{n} (K STRING PRIMARY KEY, NAME STRING)"
    " WITH (KAFKA_TOPIC='bench_d{n}', VALUE_FORMAT='JSON', PARTITIONS={p});"
)

JOBS = (
    Job("filter + project", _STREAM, "CREATE STREAM {o} AS SELECT K, V, T FROM S{n} WHERE V >= 0;"),
    Job("GROUP BY", _STREAM, "CREATE TABLE {o} AS SELECT K, COUNT(*) AS N, MAX(T) AS T FROM S{n} GROUP BY K;"),
    Job(
        "stream-table join",
        _STREAM + _TABLE,
        "CREATE STREAM {o} AS SELECT S{n}.K AS K, V, T, NAME FROM S{n} JOIN D{n} ON S{n}.K = D{n}.K;",
        table=True,
    ),
)
