"""What kills and queries leave behind; the long form is ``make test-leaks``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.runtime import Engine
from tests.harness.leaks import kills, left_over, queries

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.extended("a server that is killed again and again")]


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> Iterator[Engine]:
    made = Engine(Config.of({"ksqlpy.data.dir": str(tmp_path), "ksqlpy.warm.up": "false", "commit.interval.ms": 1000}))
    made.start()
    yield made
    made.stop()


def test_queries_that_were_dropped_leave_nothing(engine: Engine, tmp_path: Path) -> None:
    first, last = queries(engine, 4, tmp_path, print)
    assert last.topics == first.topics
    assert not left_over(first, last)
    assert not [f for f in (tmp_path / "checkpoints").rglob("plan.json")]


def test_a_killed_jvm_and_a_killed_server_leave_no_files(tmp_path: Path) -> None:
    first, last = kills(4, tmp_path, print)
    assert not left_over(first, last)
    assert not [f for pattern in ("spark-*", "blockmgr-*") for f in (tmp_path / "data-1" / "spark").glob(pattern)]
    # The last JVM's goes when its server ends in order, and at the next start where that takes too long.
    assert len(list((tmp_path / "data-1" / "spark").glob("work-*"))) <= 1
