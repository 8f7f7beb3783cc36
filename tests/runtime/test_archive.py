"""The archive of classes: where it must not be made, and what it must leave alone."""

from __future__ import annotations

import subprocess
import sys
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


@pytest.mark.spark
@pytest.mark.extended("makes the archive of classes")
def test_a_jvm_with_it_guards_its_ports(tmp_path: Path) -> None:
    """Java links the classes of an archive ahead of all else, and must not load those with it that are changed."""
    program = [sys.executable, "-m", "tests.harness.archived", str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=600, cwd=Path(__file__).parents[2])
    assert done.stdout.split() == ["archived", "guarded"], done.stderr
