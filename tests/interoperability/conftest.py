"""A real broker, a real schema registry and an engine, for the serializers of others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.embedded.registry import EmbeddedRegistry
from ksqlpy.runtime import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def registry() -> Iterator[EmbeddedRegistry]:
    with EmbeddedRegistry() as started:
        yield started


@pytest.fixture(scope="module")
def engine(
    spark: SparkSession, broker: EmbeddedKafka, registry: EmbeddedRegistry, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    started = Engine(
        Config.of(
            {
                "bootstrap.servers": broker.bootstrap,
                "ksql.service.id": "serializers_",
                "ksqlpy.data.dir": str(tmp_path_factory.mktemp("data")),
                "ksqlpy.warm.up": "false",
                "ksql.schema.registry.url": registry.url,
            }
        )
    )
    started.start()
    yield started
    started.stop()
