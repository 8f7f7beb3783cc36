"""How much generated code a JVM keeps: a query has some ten pieces, and Spark keeps a hundred by default."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PIECES = 150


def test_the_code_of_many_queries_is_kept(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    codegen = jvm.org.apache.spark.sql.catalyst.expressions.codegen
    none = getattr(jvm.scala.collection.immutable, "Map$").__getattr__("MODULE$").empty()
    texts = [f'public Object generate(Object[] references) {{ return "piece {n}"; }}' for n in range(PIECES)]

    def compiled(text: str) -> Any:
        return codegen.CodeGenerator.compile(codegen.CodeAndComment(text, none))._1()

    first = {text: compiled(text) for text in texts}
    assert [text for text in texts if not first[text].equals(compiled(text))] == []
