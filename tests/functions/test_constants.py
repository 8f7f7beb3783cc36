"""Texts as constants of other types: the analysis has the values that Spark reads; the lines of ``constants.txt``."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.constants import constant_of, is_constant
from ksqlpy.spark.evaluate import values_of
from ksqlpy.types import BYTES, DATE, STRING, TIME, TIMESTAMP, Scalar

TYPES = {str(kind): kind for kind in (DATE, TIME, TIMESTAMP, BYTES)}


def lines() -> list[tuple[Scalar, bool, str]]:
    found = []
    for line in Path(__file__).with_name("constants.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            kind, word, *text = line.split(" ", 2)
            found.append((TYPES[kind], {"yes": True, "no": False}[word], *(text or [""])))
    return found


@pytest.mark.parametrize(("kind", "read", "text"), lines())
def test_a_text_that_is_none_is_refused(kind: Scalar, read: bool, text: str) -> None:
    assert is_constant(text, kind) == read


@pytest.mark.spark
def test_spark_reads_the_same_texts(spark: SparkSession) -> None:
    casts = [t.Cast(kind, t.Literal(STRING, text)) for kind, _, text in lines()]
    found = values_of(spark, casts)
    differ = [
        (str(kind), text, got, constant_of(text, kind))
        for (kind, read, text), got in zip(lines(), found, strict=True)
        if constant_of(text, kind) != got or read != (got is not None)
    ]
    assert not differ
