"""The cases of the statement files on Kafka, in real-time mode.

``make test`` runs all cases of the files whose results depend on Kafka or on when records come, and of each other file
the first of every three; ``make test-all`` runs all.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from ksqlpy.testing import Case, KafkaRunner
from ksqlpy.testing.registry import shared_registry
from tests.streams.side_by_side import CASES, Wait, parameter, side_by_side

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT_ONCE = 6

DEPENDING = {
    "aggregate_tables",
    "bad_input",
    "debezium",
    "final",
    "final_results",
    "foreign_keys",
    "header_formats",
    "headers",
    "joins",
    "late_records",
    "many_topics",
    "sessions",
    "stream_joins",
    "table_joins",
    "tables",
    "windowed_sources",
    "writers",
    "writing_headers",
}
"""Files of whose cases all run in ``make test``: tables, joins, windows, headers, late records, what cannot be read."""

EVERY = 3


def parameters() -> Iterator[object]:
    of_file: dict[Path, int] = {}
    for case in CASES:
        if case.error is None:
            place = of_file[case.file] = of_file.get(case.file, -1) + 1
            left_out = case.file.stem not in DEPENDING and place % EVERY
            yield parameter(
                case,
                [pytest.mark.extended("two of three cases whose results do not depend on Kafka")] if left_out else [],
            )


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
                "ksql.schema.registry.url": registry.url(name),
            }
        )
    )
    engine.start()
    assert engine.session is spark
    yield from side_by_side(request, "test_on_kafka", KafkaRunner(engine), AT_ONCE)
    engine.stop()


@pytest.mark.parametrize("case", list(parameters()))
def test_on_kafka(case: Case, on_kafka: Wait) -> None:
    on_kafka(case)


def test_the_files_that_depend_on_kafka_are_there() -> None:
    assert {case.file.stem for case in CASES} >= DEPENDING
