"""The state store is found by the name that stands in checkpoints: old_checkpoint was written on 2026-11-23.

By a query that counts six new rows by ``value % 2`` in each of two batches, when all classes were in one package.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

OLD = Path(__file__).with_name("old_checkpoint")
NAMED = '"spark.sql.streaming.stateStore.providerClass":"ksqlpy.Forgetting"'

pytestmark = pytest.mark.spark


def test_a_query_goes_on_from_an_old_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    assert NAMED in (OLD / "offsets" / "1").read_text()
    folder = tmp_path / "checkpoint"
    shutil.copytree(OLD, folder)
    counted: list[Any] = []

    def keep(batch: DataFrame, number: int) -> None:
        counted.append((number, sorted(map(tuple, batch.collect()))))

    rows = spark.readStream.format("rate-micro-batch").options(rowsPerBatch=6, startTimestamp=0).load()
    counts = rows.groupBy((rows.value % 2).alias("k")).count()
    query = counts.writeStream.outputMode("update").foreachBatch(keep).trigger(once=True)
    query.option("checkpointLocation", str(folder)).start().awaitTermination()
    assert counted == [(2, [(k, n) for k in (0, 1) for n in (7, 8, 9)])]
    assert NAMED in (folder / "offsets" / "2").read_text()


def test_a_new_checkpoint_has_the_name_of_now(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.readStream.format("rate-micro-batch").options(rowsPerBatch=6, startTimestamp=0).load()
    query = rows.groupBy("value").count().writeStream.outputMode("update").format("noop").trigger(once=True)
    query.option("checkpointLocation", str(tmp_path)).start().awaitTermination()
    assert NAMED.replace("Forgetting", "ExpiringStateStoreProvider") in (tmp_path / "offsets" / "0").read_text()
