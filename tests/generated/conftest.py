"""What the generated tests share: records in memory, the bench, and how many expressions are tried."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.generated.running import Bench, record, rows


@pytest.fixture(scope="module")
def records(spark: SparkSession) -> Iterator[DataFrame]:
    """What Kafka has: the rows in topic x, and some in the topics of tables."""
    found = [record("x", i, i.to_bytes(4, "big"), row) for i, row in enumerate(rows(24))]
    keys = {"BY_TEXT": b"a", "BY_INT": (1).to_bytes(4, "big"), "BY_LONG": (7).to_bytes(8, "big")}
    keys["BY_DOUBLE"] = struct.pack(">d", -0.0)
    found += [record(name.lower(), 0, key, {"V": 1}) for name, key in keys.items()]
    schema = "key binary, value binary, topic string, partition int, offset long, at long"
    made = spark.createDataFrame(found, schema).selectExpr(
        "key", "value", "topic", "partition", "offset", "timestamp_millis(at) AS timestamp"
    )
    # Kept in memory, so that Spark cannot take them for constants.
    made = made.repartition(1).cache()
    assert made.count() == len(found)
    yield made
    made.unpersist()


@pytest.fixture(scope="module")
def bench(records: DataFrame) -> Bench:
    return Bench(records)


@pytest.fixture
def number(generated: Callable[[int], int]) -> int:
    """So many expressions in select lists, and a part of them in each other place: a tenth of what other tests run."""
    return generated(1600) // 10


@pytest.fixture
def some(number: int) -> int:
    """So many in each other place."""
    return number // 8
