"""The live figures of Kafka clients, here without a broker; with one they belong to the tests of queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ksqlpy.figures import Counts
from ksqlpy.spark.figures import counts, forget_figures

pytestmark = pytest.mark.spark

Read = Callable[[str], Counts]


class Client:
    """The metrics of one Kafka client, and the reporter that its settings name."""

    def __init__(self, jvm: Any, query: str) -> None:
        self._kafka = jvm.org.apache.kafka.common.metrics
        self.metrics = self._kafka.Metrics()
        reporter = jvm.ksqlpy.metrics.ClientFigures()
        reporter.configure({"ksqlpy.query": query})
        self.metrics.addReporter(reporter)

    def says(self, name: str, value: float, **tags: str) -> None:
        sensor = self.metrics.sensor(f"{name} {tags}")
        sensor.add(self.metrics.metricName(name, "group", "", tags), self._kafka.stats.Value())
        sensor.record(float(value))

    def close(self) -> None:
        self.metrics.close()


@pytest.fixture
def read(spark: SparkSession) -> Iterator[Read]:
    yield partial(counts, spark)
    forget_figures(spark, "CSAS_FIGURES_1")


def test_no_clients_no_figures(read: Read) -> None:
    assert read("CSAS_X_1") == Counts()


def test_no_name_is_no_client(read: Read) -> None:
    # Cases in memory have no name, and their late rows are counted.
    assert replace(read(""), late=0, failed=0) == Counts()


def test_the_newest_consumer_of_a_partition_tells_its_lag(spark: SparkSession, read: Read) -> None:
    # Two consumers have read partition 0 one after the other, a third reads partition 1.
    clients = [Client(spark._jvm, "CSAS_FIGURES_1") for _ in range(3)]
    for client, partition, lag in zip(clients, ("0", "0", "1"), (1700.0, 3.0, 4.0), strict=True):
        client.says("records-lag", lag, topic="s", partition=partition)
    assert read("CSAS_FIGURES_1").lag == 7
    for client in clients:
        client.close()
    assert read("CSAS_FIGURES_1").lag is None


def test_what_a_closed_client_had_counted_stays(spark: SparkSession, read: Read) -> None:
    first, second, other = (Client(spark._jvm, q) for q in ("CSAS_FIGURES_1", "CSAS_FIGURES_1", "CSAS_FIGURES_10"))
    first.says("records-consumed-total", 5, topic="s.1")
    second.says("records-consumed-total", 2, topic="s.1")
    second.says("record-send-total", 4, topic="out")
    other.says("records-consumed-total", 100, topic="s.1")
    first.close()
    assert read("CSAS_FIGURES_1") == Counts(consumed={"s.1": 7}, sent={"out": 4})
    second.close()
    assert read("CSAS_FIGURES_1") == Counts(consumed={"s.1": 7}, sent={"out": 4})
    other.close()
    forget_figures(spark, "CSAS_FIGURES_10")


def test_a_query_that_has_ended_is_forgotten(spark: SparkSession, read: Read) -> None:
    early, late = Client(spark._jvm, "CSAS_FIGURES_1"), Client(spark._jvm, "CSAS_FIGURES_1")
    early.says("records-consumed-total", 5, topic="s")
    late.says("records-consumed-total", 5, topic="s")
    early.close()
    forget_figures(spark, "CSAS_FIGURES_1")
    assert read("CSAS_FIGURES_1") == Counts()
    late.close()
    assert read("CSAS_FIGURES_1") == Counts()
