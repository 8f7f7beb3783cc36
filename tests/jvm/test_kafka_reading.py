"""How ksqlpy.read.KafkaReader reads what Kafka's own serializers write."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("type_", "values", "expected"),
    [
        ("INTEGER", [struct.pack(">i", -5), b"123", b""], [-5, "an INTEGER has 4 bytes, not 3", "not 0"]),
        ("BIGINT", [struct.pack(">q", 2**62), b"1234"], [2**62, "a BIGINT has 8 bytes, not 4"]),
        ("DOUBLE", [struct.pack(">d", -0.1), b"0.1"], [-0.1, "a DOUBLE has 8 bytes, not 3"]),
        ("STRING", ["é😀".encode(), b"", b"a\xffb"], ["é😀", "", "a\ufffdb"]),
        ("BYTES", [b"\x00\xff", b""], [b"\x00\xff", b""]),
    ],
)
def test_values(spark: SparkSession, type_: str, values: list[bytes], expected: list[Any]) -> None:
    frame = spark.createDataFrame([(i, v) for i, v in enumerate([*values, None])], "i INT, value BINARY")
    column = {"kind": "STRUCT", "fields": [["A", type_]]}
    bare = json.dumps({"read": "KAFKA", "bare": True, "type": type_})
    wrapped = json.dumps({"read": "KAFKA", "bare": False, "type": column})
    got = frame.selectExpr("i", f"ksqlpy.`{bare}`(value) b", f"ksqlpy.`{wrapped}`(value) w").orderBy("i").collect()
    for want, (_, b, w) in zip([*expected, None], got, strict=True):
        assert b["error"] == w["error"]
        if b["error"] is None:
            assert b["row"] == want
            assert (None if w["row"] is None else w["row"]["A"]) == want
        else:
            assert b["row"] is None and w["row"] is None
            assert b["error"].endswith(want)
