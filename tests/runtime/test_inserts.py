"""INSERTs give the records in Python that they give in Spark: ``inserts.txt``, in each format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ksqlpy.analysis import analyze_insert
from ksqlpy.errors import KsqlError
from ksqlpy.runtime.statements.insert import plain_record
from ksqlpy.spark.evaluate import record_of
from ksqlpy.sql import parse
from ksqlpy.testing.memory import MemoryEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BLOCKS = Path(__file__).with_name("inserts.txt").read_text(encoding="utf-8").strip().split("\n\n")
FORMATS = ["JSON", "KAFKA", "DELIMITED", "AVRO", "PROTOBUF", "JSON_SR", "PROTOBUF_NOSR"]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("block", BLOCKS, ids=[b.split()[2] for b in BLOCKS])
def test_python_makes_the_records_that_spark_makes(spark: SparkSession, block: str, format_: str) -> None:
    create, *inserts = block.split("\n  ")
    engine = MemoryEngine(spark)
    try:
        engine.execute(f"{create.rstrip(';')} WITH (KAFKA_TOPIC = 't', PARTITIONS = 1, FORMAT = '{format_}');")
    except KsqlError:
        return  # the format cannot carry these columns
    for sql in inserts:
        [parsed] = parse(sql)
        made = analyze_insert(parsed, engine.catalog)
        plain = plain_record(made)
        assert plain is None or plain == record_of(spark, made), sql
