"""DOUBLEs that bring rows together: of generated values, the groups are those that the bits of the values make."""

from __future__ import annotations

import json
import random
import struct
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from ksqlpy.local.question import read_question
from ksqlpy.local.sources import Declared
from ksqlpy.spark.compile import Distribution, compile_plan
from tests.generated.running import SEED

pytestmark = pytest.mark.spark

VALUES = ("0.0", "-0.0", "NaN", "Infinity", "-Infinity", "1.5", "-1.5", "4.9E-324", None)
COLUMNS = "D DOUBLE, E DOUBLE, L ARRAY<DOUBLE>, R STRUCT<X DOUBLE, Y ARRAY<STRUCT<Z DOUBLE>>>"


def source(key_format: str) -> str:
    with_ = f"kafka_topic='v', key_format='{key_format}', value_format='JSON', partitions=1"
    return f"CREATE STREAM V (ID INT KEY, {COLUMNS}) WITH ({with_});\n"


@pytest.fixture(scope="module")
def values() -> list[dict[str, Any]]:
    pick = random.Random(SEED)

    def one() -> str | None:
        return pick.choice(VALUES)

    def row() -> dict[str, Any]:
        pairs = [{"Z": one()} for _ in range(pick.randint(0, 2))]
        return {"D": one(), "E": one(), "L": [one() for _ in range(pick.randint(0, 2))], "R": {"X": one(), "Y": pairs}}

    return [row() for _ in range(600)]


@pytest.fixture(scope="module")
def stored(spark: SparkSession, values: list[dict[str, Any]]) -> DataFrame:
    found = [(None, json.dumps(v).encode(), "v", 0, i, i) for i, v in enumerate(values)]
    schema = "key binary, value binary, topic string, partition int, offset long, at long"
    return spark.createDataFrame(found, schema).selectExpr(
        "key", "value", "topic", "partition", "offset", "timestamp_millis(at) AS timestamp"
    )


def groups(records: DataFrame, key_format: str, query: str) -> list[Any]:
    declared = Declared()
    declared.take(source(key_format) + query, queries=True)
    rows = compile_plan(read_question(declared).plan, records, Distribution(1, False), name="generated").frame
    return list(rows.where("__raw IS NULL").collect())


def bits(value: Any, *, signed: bool = True) -> Hashable:
    """What values share that are one in a key; ``signed``: whether -0.0 is another than 0.0."""
    if isinstance(value, list | tuple):
        return tuple(bits(v, signed=signed) for v in value)
    if isinstance(value, dict):
        return bits(list(value.values()), signed=signed)
    if value is None:
        return None
    number = float(value) + (0.0 if not signed else -0.0)
    return "NaN" if number != number else struct.pack(">d", number)


def counted(keys: list[Any], *, signed: bool) -> Counter[Hashable]:
    return Counter(bits(k, signed=signed) for k in keys)


KEYS: dict[str, tuple[str, Callable[[dict[str, Any]], list[Any]]]] = {
    "a column": ("D", lambda v: [v["D"]]),
    "two columns": ("D, E", lambda v: [v["D"], v["E"]]),
    "an expression": ("D - D", lambda v: [None if v["D"] is None else float(v["D"]) - float(v["D"])]),
    "an array": ("L", lambda v: [v["L"]]),
    "a struct": ("R", lambda v: [v["R"]]),
}


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("key_format", ["KAFKA", "DELIMITED", "PROTOBUF_NOSR", "JSON"])
def test_groups(stored: DataFrame, values: list[dict[str, Any]], name: str, key_format: str) -> None:
    """In JSON, which stands in for formats that carry one column or nothing nested, ksqlDB reads -0.0 as 0.0."""
    group, key_of = KEYS[name]
    nested, several = name in ("an array", "a struct"), name == "two columns"
    signed = {"KAFKA": not (nested or several), "DELIMITED": not nested, "PROTOBUF_NOSR": True, "JSON": False}
    found = groups(stored, key_format, f"SELECT {group}, COUNT(*) AS N FROM V GROUP BY {group} EMIT CHANGES;")
    width = 2 if several else 1
    made = {bits([plain(row[f"__k{i}"]) for i in range(width)]): row["__a0"] for row in found}
    keys = [k for k in map(key_of, values) if None not in k]
    assert len(made) == len(found)
    assert made == counted(keys, signed=signed[key_format])


def plain(value: Any) -> Any:
    """A value of Spark without the names of its fields."""
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


def test_aggregates(stored: DataFrame, values: list[dict[str, Any]]) -> None:
    calls = ["COLLECT_SET(D)", "COLLECT_SET(D - D)", "COLLECT_SET(R)", "COUNT_DISTINCT(D)", "TOPKDISTINCT(D, 20)"]
    listed = ", ".join(f"{c} AS A{i}" for i, c in enumerate(calls))
    [row] = groups(stored, "KAFKA", f"SELECT {listed} FROM V GROUP BY COALESCE(ID, 0) EMIT CHANGES;")
    doubles = counted([v["D"] for v in values], signed=True).keys()
    some = doubles - {None}
    assert Counter(map(bits, row["__a0"])) == Counter(doubles)
    assert Counter(map(bits, row["__a1"])) == Counter({bits("0.0"): 1, bits("NaN"): 1, None: 1})
    assert Counter(bits(plain(r)) for r in row["__a2"]) == Counter(
        counted([v["R"] for v in values], signed=True).keys()
    )
    assert row["__a3"] == len(some)
    order = ["NaN", "Infinity", "1.5", "4.9E-324", "0.0", "-0.0", "-1.5", "-Infinity"]
    assert list(map(bits, row["__a4"])) == list(map(bits, order))
