"""After a restart, results of a foreign-key join that are not written yet come in the order in which the step of their
foreign key gives them, whatever the times of their records are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from ksqlpy.connection import KafkaConnection
from ksqlpy.spark.compile import Distribution, compile_plan
from ksqlpy.spark.once import Tail
from ksqlpy.testing.memory import MemoryEngine

STATEMENTS = (
    "CREATE TABLE houses (house STRING PRIMARY KEY, agent STRING)"
    " WITH (KAFKA_TOPIC='houses', VALUE_FORMAT='JSON', PARTITIONS=1);"
    "CREATE TABLE agents (agent STRING PRIMARY KEY, name STRING)"
    " WITH (KAFKA_TOPIC='agents', VALUE_FORMAT='JSON', PARTITIONS=1);"
    "CREATE TABLE owned AS SELECT h.house AS house, a.name AS name FROM houses h JOIN agents a ON h.agent = a.agent;"
)

SCHEMA = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, ts BIGINT, headers STRING"

RECORDS = (
    ("agents", "smith", {"NAME": "first"}, 0, 100),
    ("agents", "smith", {"NAME": "second"}, 1, 150),
    ("houses", "12 High Street", {"AGENT": "smith"}, 0, 200),
)
"""Topic, key, value, offset and time, in the order of time."""

TAKEN = {("agents", 0): 1, ("houses", 0): 2, ("agents", 1): 3}
"""The order in which the step took them before, as other results tell: topic and offset."""


class OrderKnown(Tail):
    """Nothing of this key is written; results of other keys, in other partitions, tell the order of before."""

    def position(self, where: str, offset: str, window: str) -> str:
        return "cast(null as bigint)"

    def any(self, where: str, offset: str, task: str) -> str:
        return "cast(null as bigint)"

    def place_in_group(self, group: str, partition: str, offset: str) -> str:
        topics = ["houses", "agents"]
        cases = " ".join(
            f"WHEN {partition} = {topics.index(topic)} AND {offset} = {at} THEN {place}L"
            for (topic, at), place in TAKEN.items()
        )
        return f"CASE {cases} END"


def test_the_order_is_that_of_the_step(spark: SparkSession, tmp_path: Path) -> None:
    engine = MemoryEngine(spark)
    engine.execute(STATEMENTS, {"auto.offset.reset": "earliest"})
    ((_, spec),) = engine.ordered_specs()
    assert list(spec.plan.topics) == ["houses", "agents"]
    folder = tmp_path / "in"
    folder.mkdir()
    lines = [
        json.dumps({"key": k, "value": json.dumps(v), "topic": t, "partition": 0, "offset": o, "ts": ts})
        for t, k, v, o, ts in RECORDS
    ]
    (folder / "records.json").write_text("\n".join(lines), encoding="utf-8")
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", "2")
    read = own.readStream.schema(SCHEMA.replace("BINARY", "STRING")).json(str(folder))
    records = read.selectExpr(
        "cast(key AS BINARY) AS key", "cast(value AS BINARY) AS value", "topic", "partition", "offset",
        "timestamp_millis(ts) AS timestamp",
    )  # fmt: skip
    tail = OrderKnown(KafkaConnection(""), "q", 0, {}, {})
    distribution = Distribution(2, shuffled=True, topic_partitions=(1, 1))
    rows = compile_plan(spec.plan, records, distribution, tail, name="q")
    found: list[Any] = []
    query = (
        rows.frame.writeStream.foreachBatch(lambda batch, number: found.extend(batch.collect()))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .outputMode("update")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    names = [value for row in found for value in row.asDict().values() if value in ("first", "second")]
    assert names == ["first", "second"]
