"""The live figures of Kafka clients, here where there are none; with a broker they belong to the tests of queries."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_no_clients_no_figures(spark: SparkSession) -> None:
    assert spark._jvm is not None
    figures = json.loads(spark._jvm.ksqlpy.Figures.read("CSAS_X_1"))
    assert figures == {"consumed": {}, "lag": None, "sent": {}, "late": 0, "failed": 0}


def test_no_name_is_no_client(spark: SparkSession) -> None:
    assert spark._jvm is not None
    figures = json.loads(spark._jvm.ksqlpy.Figures.read(""))
    # Cases in memory have no name, and their late rows are counted.
    assert (figures["consumed"], figures["lag"], figures["sent"]) == ({}, None, {})


def test_the_newest_consumer_of_a_partition_tells_its_lag(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    kafka = jvm.org.apache.kafka.common.metrics
    metrics = kafka.Metrics()
    reporter = kafka.JmxReporter()
    reporter.contextChange(kafka.KafkaMetricsContext("kafka.consumer"))
    metrics.addReporter(reporter)
    try:
        # The consumers 9 and 10 have read partition 0 one after the other, 11 reads partition 1.
        for number, partition, lag in ((9, 0, 1700.0), (10, 0, 3.0), (11, 1, 4.0)):
            tags = {"client-id": f"consumer-CSAS_LAGS_1-{number}", "topic": "s", "partition": str(partition)}
            name = metrics.metricName("records-lag", "consumer-fetch-manager-metrics", "", tags)
            sensor = metrics.sensor(f"lag {number}")
            sensor.add(name, kafka.stats.Value())
            sensor.record(lag)
        assert json.loads(jvm.ksqlpy.Figures.read("CSAS_LAGS_1"))["lag"] == 7
    finally:
        metrics.close()
