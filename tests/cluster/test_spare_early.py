"""A spare JVM whose warm-up has not ended can be used as soon as that has a Spark context."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.spark.session import prepare_launch
from ksqlpy.spark.spare import Spare
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.extended("a second driver")]

PATIENCE = 120.0


@pytest.fixture
def spare(tmp_path: Path) -> Iterator[Spare]:
    with EmbeddedKafka() as broker:
        launch = prepare_launch("spark://127.0.0.1:7077", "600m", tmp_path)
        made = Spare(launch, KafkaConnection(broker.bootstrap), "commands")
        yield made
        made.close()


def session_in(gateway: Any) -> Any:
    return gateway.jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession()


def gateway_of(spare: Spare) -> Any:
    """The connection to its JVM, when its warm-up has a Spark context."""
    assert until(lambda: spare._gateway is not None and not session_in(spare._gateway).isEmpty(), PATIENCE)
    return spare._gateway


def test_the_next_context_is_made_in_its_jvm(spare: Spare) -> None:
    gateway = gateway_of(spare)
    assert spare.take() is gateway
    assert spare.over
    try:
        jvm = gateway.jvm
        assert session_in(gateway).isEmpty()
        conf = jvm.org.apache.spark.SparkConf(False).setMaster("local[1]").setAppName("next")
        context = jvm.org.apache.spark.api.java.JavaSparkContext(conf)
        assert context.parallelize([1, 2]).count() == 2
        context.stop()
    finally:
        gateway.proc.kill()
        gateway.proc.wait()
        gateway.proc.stdin.close()
        gateway.shutdown()


def test_before_that_it_is_ended(spare: Spare) -> None:
    assert spare.take() is None
    assert spare.over
    assert until(lambda: spare._gateway is not None, PATIENCE)  # the JVM was being started
    assert spare._gateway.proc.wait(timeout=PATIENCE) != 0
