"""One plain Spark session with our Java classes, for all tests of this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from ksqlpy.embedded.jars import spark_jars
from ksqlpy.embedded.java import find_java
from ksqlpy.spark.jvm.build import helper_jar

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.catalog.ksqlpy": "ksqlpy.Functions",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
}


@pytest.fixture(scope="session")
def plain_spark() -> Iterator[SparkSession]:
    os.environ.update(find_java().environ())
    builder = SparkSession.builder.master("local[2]").appName("tests/jvm")
    builder = builder.config("spark.jars", ",".join(map(str, [*spark_jars(), helper_jar()])))
    for name, value in _SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
