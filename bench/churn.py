"""Churn: a table's keys are made and deleted, millions of them, while few are alive: does any state grow?"""

from __future__ import annotations

import time
from pathlib import Path

from bench.contenders import spark_jvms
from bench.jobs import bulk_producer, send
from ksqlpy.runtime import Engine

__all__ = ["caught_up", "churn", "state_line", "two_commits"]

ALIVE = 1000
PATIENCE = 300.0
"""Seconds without progress after which the rest is given up."""

_SOURCES = """
CREATE STREAM CS (K STRING KEY, V INT) WITH (KAFKA_TOPIC='churn_s', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE CT (K STRING PRIMARY KEY, V INT) WITH (KAFKA_TOPIC='churn_t', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE CU (K STRING PRIMARY KEY, V INT) WITH (KAFKA_TOPIC='churn_u', VALUE_FORMAT='JSON', PARTITIONS=1);
"""
_QUERIES = {
    "stream-table join": "CREATE STREAM CO1 AS SELECT CS.K AS K, CT.V AS V FROM CS JOIN CT ON CS.K = CT.K;",
    "tables joined": "CREATE TABLE CO2 AS SELECT CT.K AS K, CU.V AS V FROM CT JOIN CU ON CT.K = CU.K;",
    "GROUP BY of a table": "CREATE TABLE CO3 AS SELECT V, COUNT(*) AS N FROM CT GROUP BY V;",
}


def churn(engine: Engine, keys: int) -> str:
    """Makes and deletes so many keys, each after ``ALIVE`` others; gives a table of the state as it went."""
    engine.execute(_SOURCES)
    properties = {"auto.offset.reset": "earliest"}
    ids = {name: str(engine.execute(sql, properties)[0]["commandStatus"]["queryId"]) for name, sql in _QUERIES.items()}
    for query_id in ids.values():
        running = engine.queries.get(query_id)
        assert running is not None and running.live.wait(60), f"{query_id} is not running"
    lines = [f"{'keys so far':>12} {'seconds':>8} {'JVM (MB)':>9}   state in the checkpoint (MB): " + ", ".join(ids)]
    producer = bulk_producer(engine.bootstrap)
    begin = time.monotonic()
    for i in range(keys):
        send(producer, "churn_t", b"k%d" % i, b'{"V": %d}' % (i % 10))
        if i >= ALIVE:
            send(producer, "churn_t", b"k%d" % (i - ALIVE), None)
        if (i + 1) % max(1, keys // 10) == 0:
            producer.flush()
            # Each record changes one group, so CO3 has a result for each.
            caught_up(engine, list(ids.values()), "CO3", i + 1 + max(0, i + 1 - ALIVE))
            lines.append(state_line(engine, ids, i + 1, time.monotonic() - begin))
    two_commits(engine, list(ids.values()))
    lines.append(state_line(engine, ids, keys, time.monotonic() - begin))
    lines += [
        f"{name}: {_rows(engine, query_id):,} rows of state, {ALIVE:,} keys alive" for name, query_id in ids.items()
    ]
    return "\n".join(lines)


def two_commits(engine: Engine, ids: list[str]) -> None:
    """Waits until each query has committed all that it had read."""
    queries = [q for i in ids if (q := engine.queries.get(i)) is not None]
    before = [q.checkpoint.last_commit or 0 for q in queries]
    deadline = time.monotonic() + PATIENCE
    while any((q.checkpoint.last_commit or 0) < last + 2 for q, last in zip(queries, before, strict=True)):
        if time.monotonic() > deadline:
            raise TimeoutError("the queries do not commit")
        time.sleep(1)


def caught_up(engine: Engine, ids: list[str], sink: str, results: int) -> None:
    """Returns once the queries have read all that was sent, and a sink has so many results.

    Raises TimeoutError if they do not go on.
    """
    partitions = engine.kafka.partitions([sink])
    seen, moved = -1, time.monotonic()
    while True:
        done = sum(engine.kafka.offsets(partitions, latest=True)[sink].values())
        if done >= results and not any(engine.queries.counts(q).lag for q in ids):
            return
        if done != seen:
            seen, moved = done, time.monotonic()
        elif time.monotonic() - moved > PATIENCE:
            raise TimeoutError(f"{done} of {results} results are there, and no more come")
        time.sleep(0.5)


def _folder(engine: Engine, query_id: str) -> Path:
    return Path(engine.queries.checkpoints.folder(query_id)) / "spark"


def state_line(engine: Engine, ids: dict[str, str], keys: int, seconds: float) -> str:
    """Keys or rows so far, seconds, memory of the JVM, and the files of each query's state."""
    memory = sum(p.memory_info().rss for p in spark_jvms(engine)) / 1e6
    sizes = []
    for query_id in ids.values():
        files = [f for f in (_folder(engine, query_id) / "state").rglob("*") if f.is_file()]
        sizes.append(f"{sum(f.stat().st_size for f in files if f.exists()) / 1e6:.1f}")
    return f"{keys:12,} {seconds:8.0f} {memory:9.0f}   " + ", ".join(sizes)


def _rows(engine: Engine, query_id: str) -> int:
    """Rows of state after the last commit, of all steps of a query."""
    folder = _folder(engine, query_id)
    steps = [p.name for p in (folder / "state").iterdir() if p.name.isdigit()]
    return sum(
        engine.session.read.format("statestore").load(str(folder), operatorId=int(step)).count() for step in steps
    )
