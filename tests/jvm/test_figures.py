"""The live figures of Kafka clients, here where there are none; with a broker they belong to the tests of queries."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("prefix", ["CSAS_X_1", ""])
def test_no_clients_no_figures(spark: SparkSession, prefix: str) -> None:
    assert spark._jvm is not None
    figures = json.loads(spark._jvm.ksqlpy.Figures.read(prefix))
    assert figures == {"consumed": {}, "lag": None, "sent": {}, "late": 0, "failed": 0}
