"""In a batch that is sorted by time, a backlog or a restart, results of a foreign-key join come in the order in which
its steps took the rows, whatever the times and offsets of their records are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pyspark.sql import SparkSession

from ksqlpy.analysis.typed import ColumnRef
from ksqlpy.connection import KafkaConnection
from ksqlpy.spark.compile import Distribution, compile_plan
from ksqlpy.spark.once import Tail
from ksqlpy.testing.memory import MemoryEngine

OWNED = (
    "CREATE TABLE houses (house STRING PRIMARY KEY, agent STRING)"
    " WITH (KAFKA_TOPIC='houses', VALUE_FORMAT='JSON', PARTITIONS=1);"
    "CREATE TABLE agents (agent STRING PRIMARY KEY, name STRING)"
    " WITH (KAFKA_TOPIC='agents', VALUE_FORMAT='JSON', PARTITIONS=1);"
    "CREATE TABLE places (house STRING PRIMARY KEY, place STRING)"
    " WITH (KAFKA_TOPIC='places', VALUE_FORMAT='JSON', PARTITIONS=1);"
)
ONE = OWNED + (
    "CREATE TABLE owned AS SELECT h.house AS house, a.name AS name FROM houses h JOIN agents a ON h.agent = a.agent;"
)
TWO = OWNED + (
    "CREATE TABLE owned AS SELECT h.house AS house, a.name AS name, p.place AS place FROM houses h"
    " JOIN agents a ON h.agent = a.agent JOIN places p ON h.house = p.house;"
)

SCHEMA = "key STRING, value STRING, topic STRING, partition INT, offset BIGINT, ts BIGINT"

Given = tuple[str, str, dict[str, str], int, int]
"""Topic, key, value, offset and time of a record."""


class OrderKnown(Tail):
    """Nothing of these keys is written; results of other keys, in other partitions, tell the order of before.

    ``taken``: the place of records in it, by topic and offset; others come behind, by their time.
    """

    taken: ClassVar[dict[tuple[int, int], int]] = {}

    def position(self, where: str, offset: str, window: str) -> str:
        return "cast(null as bigint)"

    def any(self, where: str, offset: str, task: str) -> str:
        return "cast(null as bigint)"

    def place_in_group(self, group: str, partition: str, offset: str) -> str:
        cases = " ".join(
            f"WHEN {partition} = {topic} AND {offset} = {at} THEN {place}L" for (topic, at), place in self.taken.items()
        )
        return f"CASE {cases} END" if cases else "cast(null as bigint)"


class StepKnown(OrderKnown):
    """The step took the house between the two records of its agent."""

    taken: ClassVar = {(1, 0): 1, (0, 0): 2, (1, 1): 3}


def names(spark: SparkSession, folder: Path, sql: str, given: Sequence[Given], tail: Tail | None) -> list[str]:
    """The column NAME of all results in their order, of a batch over two shuffle partitions."""
    engine = MemoryEngine(spark)
    engine.execute(sql, {"auto.offset.reset": "earliest"})
    ((_, spec),) = engine.ordered_specs()
    (folder / "in").mkdir()
    lines = [
        json.dumps({"key": k, "value": json.dumps(v), "topic": t, "partition": 0, "offset": o, "ts": ts})
        for t, k, v, o, ts in given
    ]
    (folder / "in" / "records.json").write_text("\n".join(lines), encoding="utf-8")
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", "2")
    records = own.readStream.schema(SCHEMA).json(str(folder / "in")).selectExpr(
        "cast(key AS BINARY) AS key", "cast(value AS BINARY) AS value", "topic", "partition", "offset",
        "timestamp_millis(ts) AS timestamp",
    )  # fmt: skip
    counts = (1,) * len(spec.plan.topics)
    distribution = Distribution(2, shuffled=True, sorted=tail is None, topic_partitions=counts)
    rows = compile_plan(spec.plan, records, distribution, tail, name="q")
    name = next(o.expr.name for o in spec.plan.root.outputs if o.name == "NAME" and isinstance(o.expr, ColumnRef))
    found: list[Any] = []
    query = (
        rows.frame.writeStream.foreachBatch(lambda batch, number: found.extend(batch.collect()))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .outputMode("update")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return [row[name] for row in found if row["__raw"] is None]


def test_the_order_of_one_change_is_that_of_its_step(spark: SparkSession, tmp_path: Path) -> None:
    given: list[Given] = [
        ("agents", "smith", {"NAME": "first"}, 0, 100),
        ("agents", "smith", {"NAME": "second"}, 1, 150),
        ("houses", "12 High Street", {"AGENT": "smith"}, 0, 200),
    ]
    tail = StepKnown(KafkaConnection(""), "q", 0, {}, {})
    assert names(spark, tmp_path, ONE, given, tail) == ["first", "second"]


@pytest.mark.parametrize("tail", [None, OrderKnown(KafkaConnection(""), "q", 0, {}, {})], ids=["backlog", "restart"])
def test_a_join_of_a_join_ends_with_the_last_change(spark: SparkSession, tmp_path: Path, tail: Tail | None) -> None:
    """The rows of a house come by its own topic and by that of its agents."""
    given: list[Given] = [
        ("places", "12 High Street", {"PLACE": "Zeal"}, 0, 10),
        ("houses", "12 High Street", {"AGENT": "smith"}, 0, 50),
        ("agents", "smith", {"NAME": "x"}, 0, 100),
        ("agents", "smith", {"NAME": "y"}, 1, 150),
        ("agents", "jones", {"NAME": "z"}, 2, 160),
        ("houses", "12 High Street", {"AGENT": "jones"}, 1, 200),
    ]
    assert names(spark, tmp_path, TWO, given, tail)[-1] == "z"
