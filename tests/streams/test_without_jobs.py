"""In memory a plan without state over few records needs no job of Spark; its results are those that a job gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ksqlpy.testing import Case, MemoryRunner, memory
from tests.streams.side_by_side import CASES

FILES = ("filter", "projection", "formats", "headers", "python_dead_letters", "table_functions")
MORE = ("bad_input", "expressions", "keys", "literals", "python_functions", "reading", "tables", "traces")
LEFT_OUT = pytest.mark.extended("files of further cases")


def cases_of(name: str) -> list[Case]:
    """Those that run, and whose records all have a time: others have the time now."""
    return [c for c in CASES if c.file.stem == name and c.error is None and "INSERT INTO" not in "".join(c.texts)]


@pytest.mark.parametrize("name", [*FILES, *(pytest.param(m, marks=LEFT_OUT) for m in MORE)])
def test_the_results_are_equal(name: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = MemoryRunner(spark, tmp_path)
    cases = cases_of(name)
    assert cases
    for case in cases:
        without = runner.run(case)
        with monkeypatch.context() as patch:
            patch.setattr(memory, "FEW", 0)
            by_jobs = runner.run(case)
        assert (without.records, without.dead_letters) == (by_jobs.records, by_jobs.dead_letters), case.name
        assert without.failed == by_jobs.failed, case.name


def test_a_job_is_left_out(spark: SparkSession, tmp_path: Path) -> None:
    """Else the test above would compare a way with itself."""
    status = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("without jobs", "")
    try:
        (case,) = cases_of("filter")[:1]
        MemoryRunner(spark, tmp_path).run(case)
        assert status.getJobIdsForGroup("without jobs") == []
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
