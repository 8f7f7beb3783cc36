"""Folders for the state of pull queries, where executors are on other machines."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ksqlpy.runtime.scratch import Scratch
from ksqlpy.spark.checkpoints import Checkpoints

pytestmark = pytest.mark.spark

NAME = "transient_pull_0123456789ab"


def test_a_folder_that_executors_reach_is_made_and_removed(spark: SparkSession, tmp_path: Path) -> None:
    wanted = f"{tmp_path.as_uri()}/{NAME}"
    with Scratch(lambda: spark, lambda: wanted).folder() as folder:
        assert folder == wanted
        assert (tmp_path / NAME).is_dir()
    assert not (tmp_path / NAME).exists()


def test_what_a_killed_server_has_left_is_removed_at_the_next_start(spark: SparkSession, tmp_path: Path) -> None:
    scratch = Scratch(lambda: spark, lambda: f"{tmp_path.as_uri()}/{NAME}")
    with scratch.folder():
        Checkpoints(spark, tmp_path.as_uri()).clean([], [])
        assert not (tmp_path / NAME).exists()


def test_on_one_machine_a_local_folder_will_do(spark: SparkSession) -> None:
    scratch = Scratch(lambda: spark, lambda: None)
    with scratch.folder() as one, scratch.folder() as other:
        assert one != other and Path(one).is_dir() and Path(other).is_dir()
    scratch.close()
    assert not Path(one).exists() and not Path(other).exists()
