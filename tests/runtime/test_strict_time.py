"""ksql.timestamp.throw.on.invalid: a record without a valid event time ends its query with an error."""

from __future__ import annotations

import json
from pathlib import Path

from confluent_kafka import Producer
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from ksqlpy.spark.query import RunningQuery
from tests.support.waiting import until

SOURCE = (
    "CREATE STREAM timed (k STRING KEY, moment STRING, v INT) WITH (KAFKA_TOPIC='timed', VALUE_FORMAT='JSON',"
    " PARTITIONS=1, TIMESTAMP='moment', TIMESTAMP_FORMAT='yyyy-MM-dd');"
)
RESULT = "CREATE STREAM {} AS SELECT k, v FROM timed;"


def test_one_query_throws_and_the_other_goes_on(spark: SparkSession, broker: EmbeddedKafka, tmp_path: Path) -> None:
    engine = Engine(
        Config.of({"bootstrap.servers": broker.bootstrap, "ksqlpy.data.dir": str(tmp_path), "ksqlpy.warm.up": "false"})
    )
    engine.start()
    try:
        engine.execute(SOURCE)
        engine.execute(RESULT.format("lenient"))
        engine.execute(RESULT.format("thrown"), {"ksql.timestamp.throw.on.invalid": "true"})
        queries = {q.sink: q.id for q in engine.catalog.queries.values()}

        def query(sink: str) -> RunningQuery:
            found = engine.queries.get(queries[sink])
            assert found is not None
            return found

        assert until(lambda: all(query(sink).live.is_set() for sink in queries))
        producer = Producer(engine.connection.producer({}))
        for i, moment in enumerate(("2026-01-02", "tomorrow", "2026-01-03")):
            producer.produce("timed", json.dumps({"moment": moment, "v": i}), "k", 0)
        assert producer.flush(30) == 0

        assert until(lambda: "tomorrow" in str(query("THROWN").error))
        assert "event time" in str(query("THROWN").error)
        assert until(lambda: engine.kafka.offsets({"LENIENT": 1}, latest=True)["LENIENT"]["0"] == 2)
        assert engine.kafka.offsets({"THROWN": 1}, latest=True)["THROWN"]["0"] <= 1
        assert query("LENIENT").error is None
    finally:
        engine.stop()
