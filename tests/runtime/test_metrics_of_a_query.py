"""GET /metrics over an engine with Spark and Kafka: its figures are those of the records."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from confluent_kafka import Producer
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from ksqlpy.server.run import ServerThread
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

TABLE = """
CREATE STREAM rides (id INT KEY, km INT) WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE per_ride AS SELECT id, SUM(km) AS km FROM rides GROUP BY id;
"""


@pytest.fixture
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path: Path) -> Iterator[Engine]:
    engine = Engine(
        Config.of(
            {
                "bootstrap.servers": broker.bootstrap,
                "ksqlpy.data.dir": tmp_path / "data",
                "ksql.service.id": "of_metrics_",
                "ksqlpy.warm.up": "false",
                "commit.interval.ms": 1000,
            }
        )
    )
    engine.start()
    yield engine
    engine.stop()


def scraped(http: httpx.Client, query: str) -> dict[str, float]:
    """The samples of a query, by their names, and the other labels of it; those of the engine by their names."""
    found = {}
    for family in text_string_to_metric_families(http.get("/metrics").text):
        for s in family.samples:
            named = [value for label, value in s.labels.items() if label != "query"]
            if s.labels.get("query", query) == query:
                found[" ".join([s.name.removeprefix("ksqlpy_").removeprefix("query_"), *named])] = s.value
    return found


def test_the_figures_are_those_of_the_records(engine: Engine) -> None:
    engine.execute(TABLE, {"auto.offset.reset": "earliest"})
    [query] = engine.catalog.queries
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    for i in range(40):
        producer.produce("rides", key=i.to_bytes(4, "big"), value=b'{"KM": 1}')
    producer.produce("rides", key=b"\x00\x00\x00\x01", value=b"nonsense")
    producer.flush()
    with ServerThread(engine) as server, httpx.Client(base_url=server.url, timeout=30) as http:
        wanted = {
            "state RUNNING": 1,
            "info PER_RIDE": 1,
            "restarts_total": 0,
            "rows_in_total": 41,
            "rows_out_total": 40,
            "lag_records": 0,
            "lag_seconds": 0,
            "stalled_seconds": 0,
            "late_rows_total": 0,
            "dead_letters_total unreadable": 1,
            "ready": 1,
            "jvm_restarts_total": 0,
        }
        found: dict[str, float] = {}

        def agrees() -> bool:
            found.update(scraped(http, query))
            there = {"last_commit_timestamp_seconds", "state_bytes", "latency_seconds_count"} <= found.keys()
            return (
                there
                and found["state_bytes"] > 0
                and {n: found.get(n) for n in wanted} == wanted
                and found["latency_seconds_count"] > 0
            )

        assert until(agrees), found
        assert found["state_since_timestamp_seconds"] <= found["last_commit_timestamp_seconds"]
        assert 0 < found["jvm_heap_used_bytes"] < found["jvm_heap_max_bytes"]
        assert found["jvm_cpu_seconds_total"] > 1 and found["jvm_threads"] > 10
        assert found["slots used"] >= 2 and found["slots free"] >= 0
        assert found["figures_age_seconds"] < 60
        assert found["latency_seconds_count"] == found["latency_seconds_bucket +Inf"] > 0
        described = engine.execute(f"EXPLAIN {query};")[0]["queryDescription"]["figures"]
        assert abs(described["lastCommit"] / 1000 - scraped(http, query)["last_commit_timestamp_seconds"]) < 30
        assert found["table_copies"] == 0 and not any(name.startswith("table_copy_") for name in found)
        pull = engine.query("SELECT * FROM per_ride WHERE km > 0;")
        rows = pull.rows()
        with contextlib.closing(pull), contextlib.closing(rows):
            assert next(rows) is not None, "the copy is made, and its rows are gone through"
            assert until(lambda: scraped(http, query).get("table_copy_lag_records PER_RIDE") == 0)
            making = engine.reads.copies._lock
            with making:  # as while the copy of another table is made, which waits for brokers
                found = scraped(http, query)
            assert (found["table_copies"], found["pull_queries"]) == (1, 1)
            assert found["table_copy_bytes PER_RIDE"] > 0
            assert next(rows) is not None, "the scan goes on"
        assert until(lambda: scraped(http, query)["pull_queries"] == 0)
        engine.execute(f"PAUSE {query};")
        assert until(lambda: "state PAUSED" in scraped(http, query))
        engine.execute("DROP TABLE per_ride;")
        assert until(lambda: "state PAUSED" not in scraped(http, query))
        assert until(lambda: scraped(http, query)["table_copies"] == 0), "it went with the table"
