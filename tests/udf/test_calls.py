"""Functions in Python as Spark calls them: values of all types both ways, nulls, places where a call may stand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from ksqlpy.functions.python import call_text
from ksqlpy.spark.expressions import spark_json
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


@pytest.mark.parametrize(
    ("kind", "value"),
    [
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
    ],
    ids=str,
)
def test_values_go_both_ways_unchanged(spark: SparkSession, kind: SqlType, value: str) -> None:
    made, null = call_text(same(kind), ["v"]), call_text(same(kind), ["if(rand() < 2, null, v)"])
    whole = spark.sql(f"select v, {made} as made, {null} as nothing from values ({value}) as t(v)")
    row = whole.collect()[0]
    assert row.made == row.v
    assert row.nothing is None
    assert whole.schema["made"].dataType.jsonValue() == spark_json(kind)


@pytest.mark.parametrize(
    ("kind", "value", "python"),
    [
        (BOOLEAN, "true", True),
        (INTEGER, "5", 5),
        (BIGINT, "5L", 5),
        (DOUBLE, "5D", 5.0),
        (STRING, "'a'", "a"),
        (BYTES, "x'61'", b"a"),
        (DATE, "date'2026-01-02'", date(2026, 1, 2)),
        (TIME, "3723004", time(1, 2, 3, 4000)),
        (
            TIMESTAMP,
            "timestamp'2026-01-02T03:04:05.006Z'",
            "datetime.datetime(2026, 1, 2, 3, 4, 5, 6000, tzinfo=datetime.timezone.utc)",
        ),
        (DecimalType(4, 2), "cast(1.50 as decimal(4, 2))", Decimal("1.50")),
        (MapType(STRING, INTEGER), "map('a', 1)", {"a": 1}),
        (POINT, "named_struct('X', 1.5D, 'NAMES', array('a'))", {"X": 1.5, "NAMES": ["a"]}),
    ],
    ids=str,
)
def test_what_a_function_sees(spark: SparkSession, kind: SqlType, value: str, python: object) -> None:
    shown = call_text(function("def f(x):\n    return repr(x)", [kind], STRING), ["v"])
    (row,) = spark.sql(f"select {shown} as shown from values ({value}) as t(v)").collect()
    assert row.shown == (python if isinstance(python, str) and kind != STRING else repr(python))


@pytest.mark.parametrize(
    ("kind", "expression", "value"),
    [
        (INTEGER, "True", 1),
        (DOUBLE, "1", 1.0),
        (DOUBLE, "decimal.Decimal('0.5')", 0.5),
        (DecimalType(4, 2), "1", Decimal("1.00")),
        (DecimalType(4, 2), "0.005", Decimal("0.01")),
        (DecimalType(2, 2), "decimal.Decimal('0.994')", Decimal("0.99")),
        (BYTES, "memoryview(b'ab')", bytearray(b"ab")),
        (STRING, r"'a\ud800b'", "a?b"),
        (TIMESTAMP, "datetime.datetime(2026, 1, 2, 3, 4, 5, 6789)", datetime(2026, 1, 2, 3, 4, 5, 6000)),
        (ArrayType(INTEGER), "(n for n in range(3))", [0, 1, 2]),
        (ArrayType(INTEGER), "(1, None)", [1, None]),
        (POINT, "{'x': 1.5}", (1.5, None)),
        (POINT, "types.SimpleNamespace(x=1.5, names=('a', 'b'))", (1.5, ["a", "b"])),
        (POINT, "collections.namedtuple('P', 'x')(x=2)", (2.0, None)),
    ],
)
def test_what_a_result_may_be(spark: SparkSession, kind: SqlType, expression: str, value: object) -> None:
    body = f"import collections, datetime, decimal, types\ndef f():\n    return {expression}"
    (row,) = spark.sql(f"select {call_text(function(body, [], kind), [])} as made").collect()
    assert row.made == value


@pytest.mark.parametrize(
    ("kind", "expression"),
    [
        (BOOLEAN, "1"),
        (INTEGER, "2**31"),
        (INTEGER, "1.0"),
        (BIGINT, "-2**63 - 1"),
        (DOUBLE, "'1'"),
        (DOUBLE, "10**400"),
        (STRING, "5"),
        (STRING, "'x' * 10_000_001"),
        (BYTES, "'a'"),
        (DATE, "datetime.datetime(2026, 1, 1)"),
        (TIME, "5"),
        (TIMESTAMP, "datetime.date(2026, 1, 1)"),
        (DecimalType(4, 2), "99.995"),
        (DecimalType(4, 2), "decimal.Decimal('NaN')"),
        (DecimalType(4, 2), "decimal.Decimal('1E+999999')"),
        (ArrayType(INTEGER), "5"),
        (ArrayType(STRING), "'abc'"),
        (ArrayType(INTEGER), "[1, 'a']"),
        (ArrayType(BIGINT), "itertools.count()"),
        (MapType(STRING, INTEGER), "[('a', 1)]"),
        (MapType(STRING, INTEGER), "{None: 1}"),
        (POINT, "{'Y': 1}"),
        (POINT, "[1.5]"),
    ],
)
def test_a_result_of_another_type_is_null(spark: SparkSession, kind: SqlType, expression: str) -> None:
    body = f"import datetime, decimal, itertools\ndef f():\n    return {expression}"
    made = call_text(function(body, [], kind, timeout_ms=60_000), [])
    (row,) = spark.sql(f"select {made} as made").collect()
    assert row.made is None


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
