"""A real broker, an engine and its server, for the clients of others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from ksqlpy.server.run import ServerThread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def server(
    spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerThread]:
    engine = Engine(
        Config.of(
            {
                "bootstrap.servers": broker.bootstrap,
                "ksql.service.id": "clients_",
                "ksqlpy.data.dir": str(tmp_path_factory.mktemp("data")),
                "ksqlpy.warm.up": "false",
            }
        )
    )
    engine.start()
    try:
        with ServerThread(engine) as running:
            yield running
    finally:
        engine.stop()
