"""A case that fails says which of its queries have values that are null since an error made them so."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ksqlpy.testing import CaseFailed, check, read_cases
from ksqlpy.testing.memory import MemoryRunner

CASE = """\
=== prices in tens
CREATE STREAM s (id INT KEY, d DECIMAL(4,2)) WITH (kafka_topic='s', value_format='JSON', partitions=1);
CREATE STREAM tens AS SELECT id, CAST(d * 10 AS DECIMAL(4,2)) AS d FROM s;
CREATE STREAM same AS SELECT id, d FROM s;
--- input s
1 {"d": 1.25}
2 {"d": 12.34}
--- output tens
1 {"D":12.50}
2 {"D":123.40}
"""


@pytest.mark.spark
def test_a_decimal_that_overflows_is_said(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "prices.test"
    file.write_text(CASE, encoding="utf-8")
    [case] = read_cases(file)
    with pytest.raises(CaseFailed) as failed:
        check(case, MemoryRunner(spark, tmp_path))
    assert '+ 2 {"D":null}' in str(failed.value)
    [said] = [line for line in str(failed.value).splitlines() if "an error made null" in line]
    assert "query CSAS_TENS_1" in said and "does not fit its type" in said and said.endswith(": 1")
