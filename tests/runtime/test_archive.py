"""The archive of classes, where it must not be made."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ksqlpy.runtime.archive import make_archive
from ksqlpy.spark.session import is_alive


def test_a_process_with_a_session_keeps_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ksqlpy.spark.session.cache_folder", lambda name: tmp_path)
    assert not make_archive(lambda said: None)
    assert is_alive(spark)
    assert list(tmp_path.iterdir()) == []
