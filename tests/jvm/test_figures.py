"""The live figures of Kafka clients, here where there are none; with a broker they belong to the tests of queries."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_no_clients_no_figures(spark: SparkSession) -> None:
    assert spark._jvm is not None
    figures = json.loads(spark._jvm.ksqlpy.Figures.read("CSAS_X_1"))
    assert figures == {"consumed": {}, "lag": None, "sent": {}, "late": 0, "failed": 0}


def test_no_name_is_no_client(spark: SparkSession) -> None:
    assert spark._jvm is not None
    figures = json.loads(spark._jvm.ksqlpy.Figures.read(""))
    # Cases in memory have no name, and their late rows are counted.
    assert (figures["consumed"], figures["lag"], figures["sent"]) == ({}, None, {})
