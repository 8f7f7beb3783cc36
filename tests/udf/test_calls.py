"""Functions in Python as Spark calls them: values of all types both ways, nulls, places where a call may stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from ksqlpy.functions.python import call_text
from ksqlpy.functions.sparktext import tried
from ksqlpy.spark.expressions import spark_json
from ksqlpy.spark.failure import failure_of, is_final
from ksqlpy.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)
from ksqlpy.udfs.definition import Definition

pytestmark = pytest.mark.spark

POINT = StructType((("X", DOUBLE), ("NAMES", ArrayType(STRING))))


def function(body: str, takes: Sequence[SqlType], gives: SqlType, name: str = "F", **more: Any) -> Definition:
    parameters = tuple((f"a{i}", t) for i, t in enumerate(takes))
    return Definition(name, "SCALAR", parameters, gives, body, "f", **more)


def same(kind: SqlType) -> Definition:
    return function("def f(x):\n    return x", [kind], kind)


VALUES: tuple[tuple[SqlType, str], ...] = (
    (BOOLEAN, "true"),
    (BOOLEAN, "false"),
    (INTEGER, "-2147483648"),
    (BIGINT, "9223372036854775807L"),
    (DOUBLE, "0.1D"),
    (DOUBLE, "cast('-Infinity' as double)"),
    (STRING, "''"),
    (STRING, "'naïve 😀'"),
    (STRING, "repeat('x', 200000)"),
    (BYTES, "x'00ff'"),
    (DATE, "date'0001-01-01'"),
    (DATE, "date'9999-12-31'"),
    (TIME, "86399999"),
    (TIMESTAMP, "timestamp'1969-12-31T23:59:59.999Z'"),
    (DecimalType(4, 2), "cast(-12.34 as decimal(4, 2))"),
    (DecimalType(38, 20), "cast('-123456789012345678.12345678901234567890' as decimal(38, 20))"),
    (ArrayType(INTEGER), "array(1, null, 3)"),
    (ArrayType(INTEGER), "cast(array() as array<int>)"),
    (MapType(STRING, DOUBLE), "map('a', 1.5D, 'b', null)"),
    (ArrayType(MapType(STRING, ArrayType(BYTES))), "array(map('a', array(x'01', null)), null)"),
    (POINT, "named_struct('X', 1.5D, 'NAMES', array('a'))"),
    (ArrayType(POINT), "array(null, named_struct('X', cast(null as double), 'NAMES', array('a')))"),
)


def test_values_of_all_types_go_both_ways_unchanged(spark: SparkSession) -> None:
    made = [f"{call_text(same(kind), [f'v{i}'])} as made{i}" for i, (kind, _) in enumerate(VALUES)]
    nulls = [
        f"{call_text(same(kind), [f'if(rand() < 2, null, v{i})'])} as null{i}" for i, (kind, _) in enumerate(VALUES)
    ]
    names = ", ".join(f"v{i}" for i in range(len(VALUES)))
    given = f"values ({', '.join(value for _, value in VALUES)}) as t({names})"
    whole = spark.sql(f"select *, {', '.join(made + nulls)} from {given}")
    row = whole.collect()[0]
    for i, (kind, _) in enumerate(VALUES):
        assert row[f"made{i}"] == row[f"v{i}"], kind
        assert row[f"null{i}"] is None
        assert whole.schema[f"made{i}"].dataType.jsonValue() == spark_json(kind)


def test_a_call_stands_where_a_built_in_stands(spark: SparkSession) -> None:
    longer = call_text(
        function("def f(text, n):\n    return len(text or '') > n", [STRING, INTEGER], BOOLEAN), ["t", "2"]
    )
    twice = call_text(function("def f(x):\n    return x * 2", [INTEGER], INTEGER), ["x"])
    rows = spark.sql(
        f"select t, transform(array(1, 2), x -> {twice}) as made, case when {longer} then 'long' else 'short' end"
        f" as size"
        f" from values ('a'), ('abc'), (null), ('wxyz') as v(t) where {longer} or t is null order by t"
    ).collect()
    assert [(r.t, r.size) for r in rows] == [(None, "short"), ("abc", "long"), ("wxyz", "long")]
    assert [r.made for r in rows] == [[2, 4]] * 3


def test_order_and_number_of_rows_stay(spark: SparkSession) -> None:
    made = call_text(function("def f(n):\n    return n * n", [BIGINT], BIGINT), ["id"])
    rows = spark.range(5000, numPartitions=4).selectExpr("id", f"{made} as square").collect()
    assert [(r.id, r.square) for r in rows] == [(n, n * n) for n in range(5000)]


def test_arguments_of_other_types_are_refused(spark: SparkSession) -> None:
    with pytest.raises(AnalysisException, match="F takes bigint as argument 1, not struct<0:int>"):
        spark.sql(f"select {call_text(same(BIGINT), ['1'])}")


def test_stop_ends_the_query_wherever_the_call_stands(spark: SparkSession) -> None:
    stopping = function("def f(n):\n    return str(1 // n)", [INTEGER], STRING, on_error="stop")
    tried_call = tried(f"concat('a', {call_text(stopping, ['n'])})")
    with pytest.raises((PySparkException, Py4JJavaError)) as caught:
        spark.range(2).selectExpr("cast(id as int) as n").selectExpr(f"{tried_call} as made").collect()
    assert is_final(caught.value)
    failed = failure_of(caught.value)
    assert (failed.kind, failed.message) == (
        "USER",
        "function F: ZeroDivisionError: integer division or modulo by zero (line 2)",
    )
