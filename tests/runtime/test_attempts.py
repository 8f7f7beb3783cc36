"""A task that Spark tries again writes no result, and takes nothing into a state, a second time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from tests.support.waiting import until

CALLS = """
CREATE STREAM calls (line STRING KEY, held INT)
  WITH (KAFKA_TOPIC = 'calls', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM long_calls AS SELECT line, held FROM calls WHERE held > 0;
CREATE TABLE held AS SELECT line, COUNT(*) AS n FROM calls GROUP BY line;
"""


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("attempts")
    made = Engine(
        Config.of(
            {
                "bootstrap.servers": broker.bootstrap,
                "ksqlpy.data.dir": str(folder),
                "ksqlpy.warm.up": "false",
                "commit.interval.ms": 60_000,  # so all results are of a batch that is not committed
                "ksql.query.retry.backoff.initial.ms": 100,
            }
        )
    )
    made.start()
    made.execute(CALLS, {"auto.offset.reset": "earliest"})
    yield made
    made.stop()


def tasks(spark: SparkSession, query: str) -> list[int]:
    """The ids of the tasks of a query, those that read its topics first."""
    jvm: Any = spark._jvm
    return sorted(int(i) for i in jvm.ksqlpy.internals.Tasks.ids(spark.sparkContext._jsc.sc(), query))


def results(engine: Engine, topic: str) -> list[bytes]:
    """The values of all records of the topic."""
    ends = engine.kafka.offsets(engine.kafka.partitions([topic]), latest=True)[topic]
    reader, found = engine.kafka.reader(), list[bytes]()
    reader.assign([TopicPartition(topic, int(p), 0) for p in ends])
    while len(found) < sum(ends.values()):
        message = reader.poll(10)
        assert message is not None and message.error() is None
        found.append(message.value() or b"")
    reader.close()
    return found


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "last", "said"),
    [
        pytest.param("LONG_CALLS", True, "only the first may write", id="reads and writes"),
        pytest.param("HELD", False, "shuffle writer", id="reads"),  # the task that it gives rows to fails for itself
        pytest.param("HELD", True, "only the first may write", id="counts and writes"),
    ],
)
def test_a_second_attempt_is_refused(spark: SparkSession, engine: Engine, query: str, last: bool, said: str) -> None:
    running = next(q for i, q in engine.catalog.queries.items() if query in i)
    producer = Producer({"bootstrap.servers": engine.bootstrap, "linger.ms": 0})
    before = len(results(engine, query))

    def ring(times: int) -> None:
        for i in range(times):
            producer.produce("calls", key=f"line {i % 5}".encode(), value=b'{"HELD": 7}', partition=i % 2)
        assert producer.flush(20) == 0

    query_now = engine.queries.get(running.id)
    assert query_now is not None and until(query_now.live.is_set, 60)
    ring(20)
    assert until(lambda: len(results(engine, query)) == before + 20)
    found = tasks(spark, running.id)
    spark.sparkContext._jsc.sc().killTaskAttempt(found[-1 if last else 0], True, "a test")
    assert until(lambda: any(said in f.message for f in query_now.failures))
    ring(20)
    assert until(lambda: len(results(engine, query)) >= before + 40)
    time.sleep(0.5)
    found_values = results(engine, query)
    assert len(found_values) == before + 40
    if query == "HELD":  # each count came once: none was made of a record that was taken in twice
        counts = sorted(found_values)
        assert counts == sorted(b'{"N":%d}' % n for n in range(1, len(counts) // 5 + 1) for _ in range(5))
    query_now.failures.clear()


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("query", [None, "Q"])
def test_a_second_attempt_without_rows_fails_at_its_end(spark: SparkSession, query: str | None) -> None:
    """As executors do it: Spark tries the tasks of a lost one again, and near the end of a batch they get no row."""
    context = spark.sparkContext
    calls = ["'ksqlpy.tasks.Attempts', 'refuseLater'", "'java.lang.Thread', 'sleep', 4000L"]
    rows = spark.range(0, 1, 1, 1).where(" OR ".join(f"java_method({call}) = 'a row'" for call in calls))
    context.setLocalProperty("ksqlpy.query", query)  # type: ignore[arg-type]  # None takes it off

    def kill() -> None:
        assert until(lambda: bool(tasks(spark, str(query))))
        time.sleep(1.5)
        context._jsc.sc().killTaskAttempt(tasks(spark, str(query))[0], True, "a test")

    killer = threading.Thread(target=kill, daemon=True)
    if query is not None:
        killer.start()
    try:
        if query is None:
            assert rows.collect() == []
        else:
            with pytest.raises(Exception, match="only the first may write results"):
                rows.collect()
    finally:
        context.setLocalProperty("ksqlpy.query", None)  # type: ignore[arg-type]  # as above
