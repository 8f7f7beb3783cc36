"""The cases of the statement files on Kafka, in real-time mode.

``make test`` runs some of them, see ``side_by_side.py``; ``make test-all`` runs all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from ksqlpy.testing import Case, KafkaRunner
from ksqlpy.testing.registry import shared_registry
from tests.streams.side_by_side import (
    CASES,
    ON_KAFKA,
    SHAPES,
    Wait,
    chosen_for_kafka,
    chosen_for_memory,
    parameter,
    side_by_side,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT_ONCE, PATIENCE = 6, 180.0
"""Cases at the same time, and seconds for the queries of one to start: the first ones meet a cold JVM."""

CHOSEN = {id(case) for case in chosen_for_kafka()}
LEFT_OUT = pytest.mark.extended("further statement files on Kafka")


@pytest.fixture(scope="module")
def on_kafka(
    request: pytest.FixtureRequest, spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Wait]:
    registry, name = shared_registry()
    engine = Engine(
        Config.of(
            {
                "bootstrap.servers": broker.bootstrap,
                "ksqlpy.warm.up": "false",
                "ksqlpy.data.dir": str(tmp_path_factory.mktemp("streams")),
                "ksqlpy.spark.master": spark.sparkContext.master,
                "ksql.service.id": "streams_",
                "ksqlpy.functions.python.enabled": "true",
                "ksql.schema.registry.url": registry.url(name),
            }
        )
    )
    engine.start()
    assert engine.session is spark
    yield from side_by_side(request, "test_on_kafka", KafkaRunner(engine, PATIENCE), AT_ONCE)
    engine.stop()


@pytest.mark.parametrize("case", [parameter(c, [] if id(c) in CHOSEN else [LEFT_OUT]) for c in ON_KAFKA])
def test_on_kafka(case: Case, on_kafka: Wait) -> None:
    on_kafka(case)


def test_make_test_runs_some_of_each_file() -> None:
    assert len(chosen_for_kafka()) == len(SHAPES) == len(set(SHAPES.values()))
    chosen = CHOSEN | {id(c) for c in chosen_for_memory()}
    assert {c.file for c in CASES} == {c.file for c in CASES if id(c) in chosen}
    assert all(id(c) in chosen for c in CASES if c.error is not None)
