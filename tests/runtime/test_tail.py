"""What a query reads of its sink when it starts again, and what it need not work on again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from waiting import count as written
from waiting import until

from ksqlpy.config import Config
from ksqlpy.runtime import Engine
from ksqlpy.spark.query import RunningQuery

EARLIEST = {"auto.offset.reset": "earliest"}
SOURCES = """
CREATE STREAM orders (item STRING KEY, n INT) WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE items (item STRING PRIMARY KEY, n INT) WITH (KAFKA_TOPIC = 'items', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
"""


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> Iterator[Engine]:
    made = Engine(Config.of({"ksqlpy.data.dir": str(tmp_path), "ksqlpy.warm.up": "false"}))
    made.start()
    made.execute(SOURCES)
    yield made
    made.stop()


def send(engine: Engine, topic: str, numbers: Sequence[int]) -> None:
    producer = Producer({"bootstrap.servers": engine.bootstrap, "queue.buffering.max.messages": 1_000_000})
    for n in numbers:
        producer.produce(topic, key=b"a", value=json.dumps({"N": n}).encode())
    assert producer.flush(20) == 0


def started(engine: Engine, text: str, **settings: object) -> RunningQuery:
    engine.execute(text, {**EARLIEST, **settings})
    [query_id] = engine.catalog.queries
    query = engine.queries.get(query_id)
    assert query is not None and query.live.wait(60)
    return query


def test_the_notes_of_the_sink(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note is as late as the last look ahead of its commit, and holds only for the batch that was seen to end."""
    monkeypatch.setattr("ksqlpy.runtime.engine.NOTE_EVERY", 1)  # looks a second, not one in five
    query = started(
        engine, "CREATE STREAM out WITH (KAFKA_TOPIC = 'out') AS SELECT * FROM orders;", **{"commit.interval.ms": 5000}
    )
    assert until(lambda: noted(query) > 0)
    batch = noted(query) + 1
    assert until(lambda: noted(query) == batch)  # it has just begun
    assert query.checkpoint.ends_before(batch)["out"] == {"0": 0}
    send(engine, "orders", range(10))
    assert until(lambda: noted(query) > batch)
    assert query.checkpoint.ends_before(batch)["out"] == {"0": 10}
    send(engine, "orders", range(5))
    assert until(lambda: written(engine, "out") == 15)
    engine.execute("PAUSE ALL;")
    engine.execute("RESUME ALL;")
    [query_id] = engine.catalog.queries
    again = engine.queries.get(query_id)
    assert again is not None and again.live.wait(60)
    # The batch after the next may begin anywhere now: what it has to leave out may lie before the 15.
    assert noted(again) == again.checkpoint.last_commit == batch
    assert until(lambda: noted(again) == batch + 2)
    assert again.checkpoint.ends_before(batch + 1)["out"] == {"0": 10}
    assert until(lambda: noted(again) == batch + 3)
    assert again.checkpoint.ends_before(batch + 2)["out"] == {"0": 15}


def noted(query: RunningQuery) -> int:
    found = query.checkpoint.noted
    return -1 if found is None else found


QUERIES = {
    "a filter": ("STREAM", "SELECT item, n + 1 AS m FROM orders WHERE n > 1", True),
    "a table as it is": ("TABLE", "SELECT item, n + 1 AS m FROM items", True),
    "a stream-table join": (
        "STREAM", "SELECT orders.item, items.n AS n FROM orders LEFT JOIN items ON orders.item = items.item", True,
    ),
    "a group": ("TABLE", "SELECT item, COUNT(*) AS n FROM orders GROUP BY item", False),
    "a group of a join": (
        "TABLE",
        "SELECT items.n AS n, COUNT(*) AS c FROM orders JOIN items ON orders.item = items.item GROUP BY items.n",
        False,
    ),
    "several results of a record": ("STREAM", "SELECT item, EXPLODE(ARRAY[n, n + 1]) AS m FROM orders", False),
    "a filter of a table, which remembers what passed": ("TABLE", "SELECT item, n FROM items WHERE n > 1", False),
}  # fmt: skip


def test_only_a_record_that_changes_no_state_and_has_one_result_is_done_with_as_it_is_read(engine: Engine) -> None:
    found = {}
    for i, (what, (kind, select, _)) in enumerate(QUERIES.items()):
        engine.execute(f"CREATE {kind} o{i} AS {select};")
        query = engine.queries.get(list(engine.catalog.queries)[-1])
        assert query is not None
        found[what] = query.spec.plan.done_as_read
        engine.execute("PAUSE ALL;")
    assert found == {what: done for what, (_, _, done) in QUERIES.items()}
