"""Fixtures of pytest for SQL: ``ksql`` runs statements in memory, ``ksql_kafka`` on an embedded Kafka.

    def test_rides_are_counted(ksql):
        ksql.sql("CREATE STREAM rides (zone STRING) WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);")
        ksql.given("rides", [{"zone": "Queens"}, {"zone": "Queens"}])
        ksql.when("CREATE TABLE n AS SELECT zone, COUNT(*) AS n FROM rides GROUP BY zone;")
        ksql.then("n", [{"zone": "Queens", "n": 1}, {"zone": "Queens", "n": 2}])

pytest imports this module at each start, so all else is imported by the first test that asks for a fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ksqlpy.pytest_plugin.scenario import Scenario
    from ksqlpy.session.embedded import Engine

__all__ = ["ksql", "ksql_engine", "ksql_kafka", "ksql_spark"]


@pytest.fixture(scope="session")
def ksql_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The Spark session of all tests in memory; seconds, most of them of Java."""
    from ksqlpy.local.session import LocalSpark

    with LocalSpark(tmp_path_factory.mktemp("ksqlpy"), lambda text: None) as session:
        yield session


@pytest.fixture
def ksql(ksql_spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    """Statements and records in memory, without Kafka; each test begins with nothing."""
    from ksqlpy.pytest_plugin.memory import InMemory
    from ksqlpy.pytest_plugin.scenario import Scenario

    # Not removed behind the test: Spark writes files of a state a little later. pytest removes it.
    return Scenario(InMemory(ksql_spark, tmp_path_factory.mktemp("ksql")))


@pytest.fixture(scope="session")
def ksql_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The embedded engine of all tests on Kafka, with a broker of its own: a ``ksqlpy.Engine``."""
    from ksqlpy.session.embedded import Engine

    with Engine(data_dir=tmp_path_factory.mktemp("ksqlpy-kafka"), config={"ksqlpy.warm.up": "false"}) as engine:
        yield engine


@pytest.fixture
def ksql_kafka(ksql_engine: Engine, request: pytest.FixtureRequest) -> Iterator[Scenario]:
    """The same statements on a real Kafka; behind a test all of its sources are dropped, with their topics."""
    from ksqlpy.pytest_plugin.kafka import OnKafka
    from ksqlpy.pytest_plugin.scenario import Scenario

    stage = OnKafka(ksql_engine, request.node.nodeid)
    try:
        yield Scenario(stage)
    finally:
        stage.drop()
