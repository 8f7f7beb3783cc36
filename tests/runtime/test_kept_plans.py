"""The batches of a run are optimized once: the next ones get the plan of the first one, with their own offsets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from tests.runtime.lifecycle import EARLIEST, configured, read, send
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

SOURCES = """
CREATE STREAM {n}_orders (id STRING KEY, amount INT) WITH (kafka_topic='{n}_orders', value_format='JSON', partitions=1);
CREATE STREAM {n}_paid (id STRING KEY, way STRING) WITH (kafka_topic='{n}_paid', value_format='JSON', partitions=1);
"""

QUERIES = {
    "filter": "CREATE STREAM {o} AS SELECT id, amount + 1 AS n FROM {n}_orders WHERE amount >= 0 EMIT CHANGES;",
    "group": "CREATE TABLE {o} AS SELECT id, SUM(amount) AS n FROM {n}_orders GROUP BY id EMIT CHANGES;",
    "join": "CREATE STREAM {o} AS SELECT o.id AS id, amount AS n, way FROM {n}_orders o"
    " JOIN {n}_paid p WITHIN 1 HOUR ON o.id = p.id EMIT CHANGES;",
    "chance": "CREATE STREAM {o} AS SELECT id, amount AS n, RANDOM() AS r FROM {n}_orders EMIT CHANGES;",
}


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("kept")
    made = Engine(configured(broker, folder, "kept_plans"))
    made.start()
    yield made
    made.stop()


def last_batch(engine: Engine, query: str) -> tuple[int, Any]:
    """The number and the description of how Spark has run the last batch."""
    running: Any = engine.queries.get(query)
    assert running is not None
    last = running.handle.query._jsq.streamingQuery().lastExecution()
    return int(last.currentBatchId()), last


@pytest.mark.parametrize("name", QUERIES)
def test_rows_are_the_same_in_each_batch(engine: Engine, name: str) -> None:
    engine.execute(SOURCES.format(n=name))
    sink = f"OUT_{name.upper()}"
    orders, paid = f"{name}_orders", f"{name}_paid"
    query = str(engine.execute(QUERIES[name].format(n=name, o=sink), EARLIEST)[0]["commandStatus"]["queryId"])
    wanted = []
    batches = []
    for i in range(3):  # each in a later batch than the one before
        send(engine, paid, [(f"k{i}", {"WAY": "card"}, 0)])
        send(engine, orders, [(f"k{i}", {"AMOUNT": 10 * i}, 0)])
        wanted.append((f"k{i}".encode(), 10 * i + (name == "filter")))
        found = read(engine, sink, len(wanted))
        assert [(key, value["N"]) for key, value in found] == wanted
        number, _ = last_batch(engine, query)
        batches.append(number)
        until(lambda: last_batch(engine, query)[0] > batches[-1])
    assert batches == sorted({*batches})
    _, last = last_batch(engine, query)
    kept = "KeptRows" in last.optimizedPlan().toString()
    assert kept == (name != "chance"), last.optimizedPlan().toString()
    assert "KeptRows" not in last.executedPlan().toString()
    engine.execute(f"TERMINATE {query};")
