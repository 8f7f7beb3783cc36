"""Aggregates and table functions in Python in running queries, which are paused between the records: ``live.test``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from ksqlpy.testing import Case, MemoryRunner, read_cases
from ksqlpy.testing.check import check_outcome
from ksqlpy.testing.live import LiveCase
from ksqlpy.testing.served import Pace
from tests.udf.declared import functions_of

CASES = read_cases(Path(__file__).with_name("live.test"))


@pytest.fixture(scope="module", autouse=True)
def functions() -> Iterator[None]:
    with functions_of("aggregates_of_a_user.py"):
        yield


@pytest.fixture
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path: Path) -> Iterator[Engine]:
    made = Engine(
        Config.of(
            {
                "bootstrap.servers": broker.bootstrap,
                "ksqlpy.warm.up": "false",
                "ksqlpy.data.dir": str(tmp_path),
                "ksqlpy.spark.master": spark.sparkContext.master,
                "ksql.service.id": "aggregates_in_python_",
            }
        )
    )
    made.start()
    yield made
    made.stop()


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_in_memory(case: Case, spark: SparkSession, tmp_path: Path) -> None:
    check_outcome(case, MemoryRunner(spark, tmp_path).run(case))


@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_a_query_goes_on_with_the_states_of_its_checkpoint(case: Case, engine: Engine) -> None:
    live = LiveCase(engine, case, Pace(240))
    try:
        live.start()
        live.served.wait_until_live()
        records = live.records()
        for topic in ("rides", "taxis"):
            of_topic = [r for r in records if r.topic.startswith(topic)]
            live.served.send(of_topic[:3])
        live.served.settle()
        for query in live.served.queries:
            engine.execute(f"PAUSE {query.id};", {})
        for topic in ("rides", "taxis"):
            live.served.send([r for r in records if r.topic.startswith(topic)][3:])
        for query in live.served.queries:
            engine.execute(f"RESUME {query.id};", {})
        live.verify()
    finally:
        live.drop()
