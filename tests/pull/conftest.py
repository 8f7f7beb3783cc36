"""An engine for the queries of a file; it ends with the file, since others look at all state stores of the session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from ksqlpy.testing.registry import shared_registry


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    registry, name = shared_registry()
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "ksqlpy.warm.up": "false",
        "ksqlpy.data.dir": str(tmp_path_factory.mktemp("engine")),
        "ksql.max.push.queries": "20",
        "ksql.schema.registry.url": registry.url(name),
    }
    made = Engine(Config.of(settings))
    made.start()
    yield made
    made.stop()
