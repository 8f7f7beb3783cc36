"""The three jobs that are measured, and the records they are fed."""

from __future__ import annotations

import json
from dataclasses import dataclass

__all__ = ["JOBS", "Job"]

KEYS = 50


@dataclass(frozen=True)
class Job:
    """One query: its statements with ``{n}`` for a unique suffix, its sink, and what is sent.

    Every record carries the time at which it was sent (``T``, seconds); every result carries it on.
    """

    name: str
    setup: str
    query: str
    table: bool = False

    def record(self, i: int, now: float) -> tuple[bytes, bytes]:
        """Key and value of the i-th record."""
        return b"k%d" % (i % KEYS), json.dumps({"V": i, "T": now}).encode()

    def table_records(self) -> list[tuple[bytes, bytes]]:
        """What the table holds before the first record, if the job has one."""
        return [(b"k%d" % i, json.dumps({"NAME": f"name {i % 7}"}).encode()) for i in range(KEYS)]


_STREAM = (
    "CREATE STREAM S{n} (K STRING KEY, V INT, T DOUBLE)"
    " WITH (KAFKA_TOPIC='bench_s{n}', VALUE_FORMAT='JSON', PARTITIONS={p});"
)
_TABLE = (
    "CREATE TABLE D{n} (K STRING PRIMARY KEY, NAME STRING)"
    " WITH (KAFKA_TOPIC='bench_d{n}', VALUE_FORMAT='JSON', PARTITIONS={p});"
)

JOBS = (
    Job("filter + project", _STREAM, "CREATE STREAM O{n} AS SELECT K, V, T FROM S{n} WHERE V >= 0;"),
    Job("GROUP BY", _STREAM, "CREATE TABLE O{n} AS SELECT K, COUNT(*) AS N, MAX(T) AS T FROM S{n} GROUP BY K;"),
    Job(
        "stream-table join",
        _STREAM + _TABLE,
        "CREATE STREAM O{n} AS SELECT S{n}.K AS K, V, T, NAME FROM S{n} JOIN D{n} ON S{n}.K = D{n}.K;",
        table=True,
    ),
)
