"""What expressions give, compiled by the product and computed by Spark: the lines of the data files here.

A file begins with its columns, ``column NAME = expression``: values that no literal can say, or that are to be no
constants. ``expression  ->  expression`` must be equal in type and value; ``expression  !!  code`` must be refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructField

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.expressions import NULL, ExpressionAnalyzer
from ksqlpy.analysis.result import Relation
from ksqlpy.analysis.scope import Scope, Text
from ksqlpy.catalog import Catalog, Column, KeySpec, Source, ValueSpec
from ksqlpy.errors import AnalysisProblem
from ksqlpy.functions import FUNCTIONS, Signature
from ksqlpy.spark.counted_failures import counting, holds
from ksqlpy.spark.expressions import spark_json, spark_text
from ksqlpy.spark.figures import counts
from ksqlpy.sql import parse
from ksqlpy.types import INTEGER, STRING, ArrayType, DecimalType, SqlType, StructType

FILES = ("numbers", "times", "collections", "lambdas", "casts", "operators")
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class File:
    """The lines of one data file."""

    columns: dict[str, str]
    equal: tuple[tuple[str, str], ...]
    refused: tuple[tuple[str, str], ...]


def read(name: str) -> File:
    columns, equal, refused = {}, [], []
    for line in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("column "):
            column, _, value = line.removeprefix("column ").partition(" = ")
            columns[column] = value
        elif "  ->  " in line and not line.startswith("#"):
            call, _, result = line.partition("  ->  ")
            equal.append((call, result))
        elif "  !!  " in line and not line.startswith("#"):
            call, _, code = line.partition("  !!  ")
            refused.append((call, code))
        else:
            assert not line.strip() or line.startswith(("#", "==")), line
    return File(columns, tuple(equal), tuple(refused))


DATA = {name: read(name) for name in FILES}


def typed(sql: str, columns: dict[str, SqlType]) -> t.Expr:
    whole = f"SELECT {sql} FROM X EMIT CHANGES;"
    [statement] = parse(whole)
    source = Source(
        name="X", kind="STREAM", topic="x", columns=tuple(Column(n, k) for n, k in columns.items()),
        key=KeySpec("KAFKA"), value=ValueSpec("JSON"), statement="",
    )  # fmt: skip
    [node] = statement.node.expressions
    analyzer = ExpressionAnalyzer(Scope((Relation(source, "X", False),)), Text(whole))
    return analyzer.analyze(node)


def simple_type(kind: SqlType) -> str:
    """Spark's type for it, in Spark's short form."""
    made = StructField.fromJson({"name": "x", "type": spark_json(kind), "nullable": True, "metadata": {}})
    return made.dataType.simpleString()


def column_types(name: str) -> dict[str, SqlType]:
    return {column: typed(value, {}).type for column, value in DATA[name].columns.items()}


@pytest.fixture(scope="module")
def results(spark: SparkSession) -> dict[tuple[str, str, str], tuple[Any, Any, str, str]]:
    """By file and line: both values, both types, computed at once."""
    found = {}
    for name, data in DATA.items():
        columns = column_types(name)
        values = [f"{spark_text(typed(v, {}))} AS {c}" for c, v in data.columns.items()]
        # Kept in memory, so that Spark cannot take the columns for constants.
        rows = spark.range(0, 1, 1, 1).selectExpr("id", *values).cache()
        rows.count()
        sides = [typed(side, columns) for pair in data.equal for side in pair]
        computed = rows.selectExpr(*(f"{spark_text(e)} AS c{i}" for i, e in enumerate(sides)))
        [row] = computed.collect()
        rows.unpersist()
        kinds = [f.dataType.simpleString() for f in computed.schema]
        for i, (call, want) in enumerate(data.equal):
            for side in (0, 1):
                e = sides[2 * i + side]
                if e.type != NULL:
                    assert kinds[2 * i + side] == simple_type(e.type), spark_text(e)
            # repr tells -0.0 from 0.0 and finds NaN equal to itself.
            both = (repr(row[2 * i]), repr(row[2 * i + 1]))
            found[name, call, want] = (*both, str(sides[2 * i].type), str(sides[2 * i + 1].type))
    return found


EQUAL = [(name, *pair) for name, data in DATA.items() for pair in data.equal]


@pytest.mark.spark
@pytest.mark.parametrize(("name", "call", "want"), EQUAL)
def test_value(name: str, call: str, want: str, results: dict[tuple[str, str, str], tuple[Any, Any, str, str]]) -> None:
    got_value, want_value, got_type, want_type = results[name, call, want]
    assert got_value == want_value, spark_text(typed(call, column_types(name)))
    assert got_type == want_type


@pytest.mark.parametrize(
    ("name", "call", "code"), [(name, *pair) for name, data in DATA.items() for pair in data.refused]
)
def test_refused(name: str, call: str, code: str) -> None:
    with pytest.raises(AnalysisProblem) as caught:
        typed(call, column_types(name))
    assert caught.value.code == code


def nulled() -> list[tuple[str, str, str]]:
    """Every call of the files with one argument after the other turned to NULL, where it makes the result null."""
    found = []
    for name, data in DATA.items():
        columns = column_types(name)
        for call, _ in data.equal:
            e = typed(call, columns)
            if isinstance(e, t.FunctionCall):
                assert isinstance(e.call.signature, Signature)
                for i in e.call.signature.needs(len(e.arguments)):
                    if not isinstance(e.arguments[i], t.Lambda) and e.arguments[i].type.base != "INTERVALUNIT":
                        changed = list(e.arguments)
                        changed[i] = t.Literal(e.arguments[i].type, None)
                        null = t.FunctionCall(e.type, e.call, tuple(changed))
                        found.append((name, f"{call}, argument {i + 1}", spark_text(null)))
    return found


@pytest.mark.spark
def test_a_null_argument_makes_null_unless_the_signature_says_otherwise(spark: SparkSession) -> None:
    calls = nulled()
    assert len(calls) > 200, len(calls)
    wrong = []
    for name in FILES:
        own = [(call, text) for file, call, text in calls if file == name]
        values = [f"{spark_text(typed(v, {}))} AS {c}" for c, v in DATA[name].columns.items()]
        rows = spark.range(0, 1, 1, 1).selectExpr("id", *values)
        if own:
            [row] = rows.selectExpr(*(f"({text}) IS NULL AS c{i}" for i, (_, text) in enumerate(own))).collect()
            wrong += [call for (call, _), null in zip(own, row, strict=True) if not null]
    assert not wrong, wrong


def test_user_types_are_those_of_the_text() -> None:
    whole = "SELECT CAST(NULL AS STRUCT<A MONEY, B ARRAY<MONEY>>), CAST(1 AS MONY) FROM X EMIT CHANGES;"
    [statement] = parse(whole)
    known, unknown = statement.node.expressions
    money = DecimalType(9, 2)
    analyzer = ExpressionAnalyzer(Scope(()), Text(whole, {"MONEY": money}))
    assert analyzer.analyze(known).type == StructType((("A", money), ("B", ArrayType(money))))
    with pytest.raises(AnalysisProblem) as caught:
        analyzer.analyze(unknown)
    assert caught.value.code == "unknown-type"
    assert "MONEY" in caught.value.similar


def test_the_catalog_keeps_user_types() -> None:
    catalog = Catalog().with_type("MONEY", DecimalType(9, 2)).with_type("CODE", STRING)
    assert dict(catalog.without_type("MONEY").types) == {"CODE": STRING}
    assert set(catalog.types) == {"MONEY", "CODE"}


@pytest.mark.spark
def test_values_that_an_error_made_null_are_counted(spark: SparkSession) -> None:
    rows = spark.sql(
        "SELECT * FROM VALUES ('1', 2, 0), ('x', 2, 1), (null, 2, 2), ('3', 0, 3), ('4', null, 4) AS v (S, N, I)"
    )
    kinds: dict[str, SqlType] = {"S": STRING, "N": INTEGER}
    counted = [
        ("CAST(S AS INT)", 1),
        ("CAST(S AS INT) / N", 2),
        ("PARSE_DATE(S, 'd')", 1),
        ("COALESCE(CAST(S AS INT), 7)", 1),
        ("CASE WHEN N > 0 THEN CAST(S AS INT) END", 1),
        ("CASE WHEN N > 2 THEN CAST(S AS INT) END", 0),
        ("NULLIF(N, 2)", 0),
        ("ARRAY[1][N]", 0),
    ]
    for i, (call, count) in enumerate(counted):
        result = rows.selectExpr(f"{counting(typed(call, kinds), f'test{i}')} AS x")
        plain = rows.selectExpr(f"{spark_text(typed(call, kinds))} AS x")
        assert [r.x for r in result.collect()] == [r.x for r in plain.collect()]
        assert counts(spark, f"test{i}").failed == count, call


@pytest.mark.spark
def test_rows_that_an_error_dropped_are_counted(spark: SparkSession) -> None:
    rows = spark.sql("SELECT * FROM VALUES ('1', 0), ('x', 1), (null, 2) AS v (S, I)")
    for i, (condition, left, count) in enumerate(
        [
            ("CAST(S AS INT) = 1 OR I > 0", [0, 2], 1),
            ("I > 0 OR CAST(S AS INT) = 1", [0, 1, 2], 0),
            ("I = 0 AND I < 0 / I", [], 1),
            ("CAST(CAST(NULL AS STRING) AS BOOLEAN)", [], 3),
            ("S = 'x'", [1], 0),
        ]
    ):
        kept = rows.where(holds(typed(condition, {"S": STRING, "I": INTEGER}), f"dropped{i}"))
        assert [r.I for r in kept.collect()] == left
        assert counts(spark, f"dropped{i}").failed == count, condition


def test_every_function_of_these_families_has_lines() -> None:
    columns = {name: column_types(name) for name in FILES}
    called = {
        e.call.function.name
        for name, data in DATA.items()
        for call, _ in data.equal
        for e in t.walk(typed(call, columns[name]))
        if isinstance(e, t.FunctionCall)
    }
    families = {"MATHEMATICAL", "DATE / TIME", "ARRAY", "MAP", "LAMBDA", "CONDITIONAL", "OTHER"}
    assert {f.name for f in FUNCTIONS.functions.values() if f.kind == "SCALAR" and f.category in families} <= called
