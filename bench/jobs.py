"""The jobs that are measured, and the records they are fed."""

from __future__ import annotations

import json
from dataclasses import dataclass

from confluent_kafka import Producer

from ksqlpy.catalog import Source

__all__ = ["JOBS", "LEFT_JOIN", "Job", "bulk_producer", "send"]

KEYS = 50
MANY = 5000
"""So many keys that one comes again only after seconds."""
EVER_NEW = 10**9
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


def send(producer: Producer, topic: str, key: bytes | None, value: bytes | None, at: int = 0) -> None:
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

    ``topics``: the records go to ``bench_s{n}``, or to two topics in turn, of which each two have one key; ``keys``:
    how many keys. ``tables``: the tables beside them, whose topics are ``bench_d{n}`` and ``bench_e{n}``. ``results``:
    how many results each record gives; ``held``: how many fewer there are in the end, at most. ``timed``: how many of
    the results of a record, if any, carry the time from which on their latency counts (``T``, seconds). ``dsl``:
    whether Kafka Streams' DSL has such an operation. ``partitions``: of its topics and its sink.
    ``bench/peers`` and ``bench/flink_sql.py`` know the jobs by their names.
    """

    name: str
    setup: str
    query: str
    tables: str = ""
    results: float = 1
    timed: float = 0
    topics: str = "s"
    keys: int = KEYS
    held: int = 0
    dsl: bool = True
    partitions: int = 1

    @property
    def even(self) -> bool:
        """Whether each record gives one result, at once, with its time."""
        return (self.results, self.timed, self.topics, self.held) == (1, 1, "s", 0)

    def topic(self, i: int, suffix: str) -> str:
        """The topic of the i-th record."""
        return f"bench_{self.topics[i % len(self.topics)]}{suffix}"

    def _key(self, i: int) -> int:
        return i // len(self.topics) % self.keys

    def record(self, i: int, now: float) -> tuple[bytes, bytes]:
        """Key and value of the i-th record."""
        return b"k%d" % self._key(i), json.dumps({"V": i, "T": now}).encode()

    def backlog_record(self, i: int) -> tuple[bytes, bytes]:
        """Key and value (some 80 bytes) of the i-th record of a backlog; a part of it nobody reads, as is usual."""
        key = self._key(i)
        value = b'{"V": %d, "T": %.6f, "NOTE": "not a column", "G": "g%d"}' % (i, 1.7e9 + i / 1000, key % GROUPS)
        return b"k%d" % key, value

    def sent_at(self, value: bytes, sink: Source | None) -> float:
        """When the record of a result was sent (``T``, seconds); ``sink``: what the query writes, of ours."""
        return float(json.loads(value)["T"])

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
_OTHER = _source("STREAM", "KEY", "r", "V INT, T DOUBLE")
_D, _E = (_source("TABLE", "PRIMARY KEY", t, "NAME STRING") for t in "de")

JOBS = (
    Job("filter + project", _STREAM, "CREATE STREAM {o} AS SELECT K, V, T FROM S{n} WHERE V >= 0;", timed=1),
    Job(
        "GROUP BY",
        _STREAM,
        "CREATE TABLE {o} AS SELECT K, COUNT(*) AS N, MAX(T) AS T FROM S{n} GROUP BY K;",
        timed=1,
    ),
    Job(
        "stream-table join",
        _STREAM + _D,
        "CREATE STREAM {o} AS SELECT S{n}.K AS K, V, T, NAME FROM S{n} JOIN D{n} ON S{n}.K = D{n}.K;",
        tables="d",
        timed=1,
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
    # One session a key, which grows with each record: its row before goes out as a tombstone.
    Job(
        "session count",
        _STREAM,
        "CREATE TABLE {o} AS SELECT K, COUNT(*) AS N, MAX(T) AS T FROM S{n}"
        " WINDOW SESSION (10 SECONDS, GRACE PERIOD 1 MINUTE) GROUP BY K;",
        results=2,
        timed=1,
        held=KEYS,
    ),
    # The later of two records has the time.
    Job(
        "stream-stream join",
        _STREAM + _OTHER,
        "CREATE STREAM {o} AS SELECT S{n}.K AS K, S{n}.V AS V, R{n}.T AS T FROM S{n} JOIN R{n}"
        " WITHIN 1 SECOND GRACE PERIOD 10 SECONDS ON S{n}.K = R{n}.K;",
        results=0.5,
        timed=0.5,
        topics="sr",
        keys=MANY,
    ),
    # Each record has a window of its own, whose result counts from the window's end: until a later record closes it.
    Job(
        "EMIT FINAL",
        _STREAM,
        "CREATE TABLE {o} AS SELECT K, COUNT(*) AS N, CAST(WINDOWEND AS DOUBLE) / 1000 AS T FROM S{n}"
        " WINDOW TUMBLING (SIZE 100 MILLISECONDS, GRACE PERIOD 0 SECONDS) GROUP BY K EMIT FINAL;",
        timed=1,
        keys=MANY,
        held=101,
    ),
    # Each row is new. Kafka Streams drops results of rows that have changed by the time they are there.
    Job(
        "foreign-key join",
        _CHANGES + _D,
        "CREATE TABLE {o} AS SELECT S{n}.K AS K, V, T, NAME FROM S{n}"
        " JOIN D{n} ON CONCAT('k', CAST(S{n}.V % 50 AS STRING)) = D{n}.K;",
        tables="d",
        timed=1,
        keys=EVER_NEW,
    ),
    Job(
        "LAG",
        _STREAM,
        "CREATE STREAM {o} AS SELECT K, V, T, LAG(V) OVER (PARTITION BY K) AS B FROM S{n};",
        timed=1,
        dsl=False,
    ),
    # Each row is the new first one of its group.
    Job(
        "first of each group",
        _STREAM,
        "CREATE TABLE {o} WITH (KEY_FORMAT='JSON') AS SELECT K, P, V, T FROM"
        " (SELECT K, V, T, ROW_NUMBER() OVER (PARTITION BY K ORDER BY V DESC) AS P FROM S{n}) WHERE P <= 1;",
        timed=1,
        dsl=False,
    ),
)

# ``bench/pauses.py`` has records for it: each two of one time have one key of their own.
LEFT_JOIN = Job(
    "stream-stream left join",
    _STREAM + _OTHER,
    "CREATE STREAM {o} AS SELECT S{n}.K AS K, S{n}.V AS V, R{n}.T AS T FROM S{n} LEFT JOIN R{n}"
    " WITHIN 1 SECOND GRACE PERIOD 2 SECONDS ON S{n}.K = R{n}.K;",
    topics="sr",
    keys=EVER_NEW,
)
