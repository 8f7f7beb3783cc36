"""ksqlpy.speedups.ExpressionReader makes of a text what Spark's parser does: the cases of expression_reading.txt."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ksqlpy.errors import AnalysisProblem
from ksqlpy.spark.expressions import spark_text
from tests.generated.generated_expressions import Generator
from tests.generated.running import SEED, planned, selected
from tests.generated.test_generated_expressions import in_lambdas

_CASES = Path(__file__).with_name("expression_reading.txt")

pytestmark = pytest.mark.spark


def cases() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    section = ""
    for line in _CASES.read_text("utf-8").splitlines():
        if line.startswith("== "):
            section = line.removeprefix("== ")
        elif line and not line.startswith("# "):
            found[section].append(line)
    return found


def tree(expression: Any) -> str:
    """As JSON; without ids, which are new each time, and addresses of bytes."""
    text = re.sub(r'"(exprId|resultId)":\{[^{}]*\}', r'"\1":0', expression.toJSON())
    return re.sub(r"\[B@[0-9a-f]+", "[B", text)


@pytest.fixture
def reader(spark: SparkSession) -> Any:
    jvm: Any = spark._jvm
    return jvm.ksqlpy.speedups.ExpressionReader.read


@pytest.fixture
def of_spark(spark: SparkSession) -> Any:
    jvm: Any = spark._jvm
    return jvm.org.apache.spark.sql.execution.SparkSqlParser().parseExpression


@pytest.mark.parametrize("text", cases()["read"])
def test_it_reads_as_spark_does(reader: Any, of_spark: Any, text: str) -> None:
    read = reader(text)
    assert read is not None
    assert tree(read) == tree(of_spark(text))


@pytest.mark.parametrize("text", cases()["left"])
def test_it_leaves_to_spark_what_it_does_not_know(reader: Any, of_spark: Any, text: str) -> None:
    assert reader(text) is None
    assert of_spark(text) is not None


@pytest.mark.parametrize("text", cases()["wrong"])
def test_spark_says_what_is_wrong(spark: SparkSession, reader: Any, text: str) -> None:
    assert reader(text) is None
    jvm: Any = spark._jvm
    with pytest.raises(PySparkException):
        jvm.ksqlpy.speedups.QuickParser().parseExpression(text)


def test_a_session_uses_it(spark: SparkSession) -> None:
    session: Any = spark.newSession()._jsparkSession
    assert session.sessionState().sqlParser().getClass().getName() == "ksqlpy.speedups.QuickParser"


def test_it_reads_what_plans_have(reader: Any) -> None:
    """Spark's grammar would take seconds, and some 100 MB, for some of them."""
    generator, read = Generator(SEED), 0
    for made in chain(islice(generator.expressions(), 400), islice(in_lambdas(SEED), 200)):
        try:
            plan, _ = planned(selected([made.text]))
        except AnalysisProblem:
            continue
        for text in map(spark_text, plan.expressions):
            assert reader(text) is not None, text
            read += 1
    assert read > 400
