"""What the scalar functions give, computed by Spark: the calls of the data files beside this one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType as SparkStruct
from sqlglot import exp

from ksqlpy.errors import AnalysisProblem
from ksqlpy.functions import FUNCTIONS, Signature
from ksqlpy.functions.sparktext import bound, quoted, text_constant, whole_constant
from ksqlpy.spark.expressions import null_text, spark_json, spark_type
from ksqlpy.sql import nodes, parse
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
    common_type,
)

pytestmark = pytest.mark.spark

COLUMNS: dict[str, tuple[SqlType, Any]] = {
    "C_CONTROLS": (STRING, "\x00\x1f\t a \r\n"),
    "C_LINES": (STRING, "one\ttwo\nTHREE"),
    "C_LINES_CAPITAL": (STRING, "One\tTwo\nThree"),
    "C_EMPTY": (STRING, ""),
    "C_POINT": (STRING, "."),
    "C_MINUS_SIGN": (STRING, "-"),
    "C_QUOTE_END": (STRING, "\\E"),
    "C_PATTERN": (STRING, "yyyy-MM"),
    "C_BAD_PATTERN": (STRING, "YYYY"),
    "C_MINUS": (INTEGER, -1),
    "C_THREE": (INTEGER, 3),
    "C_NULL_INT": (INTEGER, None),
    "C_MINUS_ZERO": (DOUBLE, -0.0),
    "C_NAN": (DOUBLE, float("nan")),
    "C_INFINITY": (DOUBLE, float("inf")),
    "C_MINUS_INFINITY": (DOUBLE, float("-inf")),
    "C_NO_NUMBERS": (ArrayType(INTEGER), []),
    "C_NO_TEXTS": (ArrayType(STRING), []),
    "C_NO_ENTRIES": (MapType(STRING, STRING), {}),
    "C_TAB": (STRING, "\t"),
    "C_LINE": (STRING, "one\ntwo"),
    "C_NESTED_DEEPLY": (STRING, "[" * 5000 + "]" * 5000),
    "C_TIME": (TIME, 47_106_000),
    "C_TIME_MINUTE": (TIME, 47_100_000),
    "C_TIME_MILLIS": (TIME, 47_106_007),
    "C_ROW": (StructType((("B", INTEGER), ("A", ArrayType(DATE)))), (None, [date(2024, 5, 6), None])),
    "C_NO_ROW": (StructType((("B", INTEGER),)), None),
}
"""Values that no literal can say, and texts that are to be no constants."""

SPECIAL = {"HEX": (BYTES, "X{}"), "DATE": (DATE, "date{}"), "TIMESTAMP": (TIMESTAMP, "timestamp{}")}

SCHEMA = SparkStruct.fromJson(
    {
        "fields": [
            {"name": name, "type": spark_json(kind), "nullable": True, "metadata": {}}
            for name, (kind, _) in COLUMNS.items()
        ]
    }
)


@dataclass(frozen=True)
class Text:
    """Spark SQL text of a type; None: an untyped NULL."""

    type: SqlType | None
    text: str

    def brought_to(self, t: SqlType) -> str:
        return self.text if self.type == t else f"cast({self.text} as {spark_type(t)})"


def compiled(node: exp.Expr) -> Text:
    """Just enough of a compiler for the data file."""
    match node:
        case exp.Null():
            return Text(None, "null")
        case exp.Boolean():
            return Text(BOOLEAN, str(node.this).lower())
        case exp.Literal() if node.is_string:
            return Text(STRING, quoted(node.this))
        case exp.Literal() | exp.Neg():
            return number(node)
        case exp.Column():
            return Text(COLUMNS[node.name][0], node.name)
        case exp.Cast():
            inner = compiled(node.this)
            assert isinstance(node.args["to"], nodes.TypeName)
            t = node.args["to"].sql_type
            assert t is not None
            return Text(t, f"cast({inner.text} as {spark_type(t)})")
        case exp.Array():
            items = [compiled(x) for x in node.expressions]
            t = common_type(x.type for x in items if x.type is not None)
            assert t is not None
            return Text(ArrayType(t), f"array({', '.join(x.brought_to(t) for x in items)})")
        case nodes.MapOf():
            keys = [compiled(x.this).text for x in node.expressions]
            items = [compiled(x.expression) for x in node.expressions]
            t = common_type(x.type for x in items if x.type is not None)
            assert t is not None
            pairs = (f"{k}, {x.brought_to(t)}" for k, x in zip(keys, items, strict=True))
            return Text(MapType(STRING, t), f"map({', '.join(pairs)})")
        case exp.Anonymous() if node.this in SPECIAL:
            special, form = SPECIAL[node.this]
            return Text(special, form.format(quoted(node.expressions[0].this)))
        case exp.Anonymous():
            arguments = [compiled(x) for x in node.expressions]
            call = FUNCTIONS.resolve(node.this, [x.type for x in arguments])
            assert isinstance(call.signature, Signature)
            brought = [x.brought_to(t) for x, t in zip(arguments, call.arguments, strict=True)]
            return Text(call.returns, call.signature.spark(brought, call.arguments))
    raise AssertionError(f"not for the data file: {node!r}")


def number(node: exp.Expr) -> Text:
    sign, literal = ("-", node.this) if isinstance(node, exp.Neg) else ("", node)
    digits = literal.this
    if re.fullmatch("[0-9]+", digits):
        small = int(digits) < 2**31
        return Text(INTEGER, f"{sign}{digits}") if small else Text(BIGINT, f"{sign}{digits}L")
    if "E" in digits.upper():
        return Text(DOUBLE, f"{sign}{digits}D")
    whole, _, places = digits.partition(".")
    return Text(DecimalType(len(whole + places), len(places)), f"{sign}{digits}BD")


def expression(sql: str) -> exp.Expr:
    [statement] = parse(f"SELECT {sql} FROM X EMIT CHANGES;")
    [node] = statement.node.expressions
    assert isinstance(node, exp.Expr)
    return node


FILES = [Path(__file__).with_name(f"{name}.txt") for name in ("scalar", "texts", "json")]
LINES = [line for file in FILES for line in file.read_text(encoding="utf-8").splitlines()]
CASES = [line for line in LINES if "  ->  " in line and not line.startswith("#")]


@dataclass(frozen=True)
class Result:
    call: Text
    want: Text
    got_type: str
    want_type: str
    got_value: str
    want_value: str


@pytest.fixture(scope="module")
def results(spark: SparkSession) -> dict[str, Result]:
    """All cases by their lines, computed at once."""
    # Kept in memory, so that Spark cannot take the columns for constants.
    source = spark.createDataFrame([tuple(value for _, value in COLUMNS.values())], SCHEMA).cache()
    pairs = [tuple(compiled(expression(side)) for side in line.split("  ->  ")) for line in CASES]
    texts = [f"{side.text} as c{i}_{j}" for i, pair in enumerate(pairs) for j, side in enumerate(pair)]
    computed = source.selectExpr(*texts)
    [row] = computed.collect()
    types = [field.dataType.simpleString() for field in computed.schema]
    # repr tells -0.0 from 0.0 and finds NaN equal to itself.
    values = [repr(value) for value in row]
    source.unpersist()
    return {
        line: Result(call, want, *types[2 * i : 2 * i + 2], *values[2 * i : 2 * i + 2])
        for i, (line, (call, want)) in enumerate(zip(CASES, pairs, strict=True))
    }


@pytest.mark.parametrize("line", CASES)
def test_call(line: str, results: dict[str, Result]) -> None:
    result = results[line]
    assert result.got_value == result.want_value, result.call.text
    assert result.call.type == result.want.type
    assert result.got_type == result.want_type, result.call.text


def test_every_scalar_function_has_cases() -> None:
    called = {call.this for line in CASES for call in expression(line.split("  ->  ")[0]).find_all(exp.Anonymous)}
    elsewhere = {"MATHEMATICAL", "DATE / TIME", "ARRAY", "MAP", "LAMBDA", "CONDITIONAL", "OTHER"}  # test_expressions.py
    scalars = [f for f in FUNCTIONS.functions.values() if f.kind == "SCALAR"]
    assert {f.name for f in scalars if f.category not in elsewhere} - set(SPECIAL) <= called


def test_the_clock_is_read(spark: SparkSession) -> None:
    clock, today = (compiled(expression(call)).text for call in ("UNIX_TIMESTAMP()", "UNIX_DATE()"))
    [row] = spark.sql(f"select {clock}, {today}, {clock} div 86400000").collect()
    assert row[0] > 1_700_000_000_000
    assert row[1] == row[2]


def nulled() -> dict[str, str]:
    """The calls of the files with one argument after the other turned to null, where that makes the result null."""
    found = {}
    for line in CASES:
        node = expression(line.split("  ->  ")[0])
        if isinstance(node, exp.Anonymous) and node.this not in SPECIAL:
            arguments = [compiled(x) for x in node.expressions]
            call = FUNCTIONS.resolve(node.this, [x.type for x in arguments])
            assert isinstance(call.signature, Signature)
            brought = [x.brought_to(t) for x, t in zip(arguments, call.arguments, strict=True)]
            for i in call.signature.needs(len(brought)):
                changed = [*brought[:i], null_text(call.arguments[i]), *brought[i + 1 :]]
                found[f"{line}, argument {i + 1}"] = call.signature.spark(changed, call.arguments)
    return found


def test_a_null_argument_makes_null_unless_the_signature_says_otherwise(spark: SparkSession) -> None:
    calls = nulled()
    assert len(calls) > 200, len(calls)
    source = spark.createDataFrame([tuple(value for _, value in COLUMNS.values())], SCHEMA)
    [row] = source.selectExpr(*(f"({text}) is null as c{i}" for i, text in enumerate(calls.values()))).collect()
    assert [call for call, null in zip(calls, row, strict=True) if not null] == []


def test_uuids_differ(spark: SparkSession) -> None:
    rows = spark.range(100).selectExpr(f"{compiled(expression('UUID()')).text} as id").collect()
    assert len({row.id for row in rows}) == 100


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("UCASE(1)", "no-overload"),
        ("CONCAT('a', 1)", "no-overload"),
        ("CONCAT('a')", "no-overload"),
        ("MASK('a', 'x')", "no-overload"),
        ("TO_BYTES('a')", "no-overload"),
        ("JSON_ARRAY_CONTAINS('[]', ARRAY[1])", "no-overload"),
        ("UCASES('a')", "unknown-function"),
    ],
)
def test_calls_that_do_not_fit_are_refused(call: str, code: str) -> None:
    with pytest.raises(AnalysisProblem) as caught:
        compiled(expression(call))
    assert caught.value.code == code


def test_examples_are_calls_of_their_function() -> None:
    for function in FUNCTIONS.functions.values():
        assert expression(function.example).this == function.name


def test_long_arguments_are_named_once() -> None:
    argument = "x + " * 40 + "x"
    assert bound(argument, lambda v: f"{v} * {v}").count(argument) == 1
    assert bound("x + y", lambda v: f"{v} * {v}") == "(x + y) * (x + y)"


@pytest.mark.parametrize("text", ["", "a", "it's", "back\\slash", "\\'", "''", "${x}", "\n\0é😀", "x" * 99])
def test_constants_are_read_back(text: str) -> None:
    assert text_constant(quoted(text)) == text


@pytest.mark.parametrize(("text", "value"), [("5", 5), ("-5", -5), ("(-5)", -5), ("x", None), ("5 + 1", None)])
def test_whole_constants(text: str, value: int | None) -> None:
    assert whole_constant(text) == value


@pytest.mark.parametrize("text", ["x", "'a' || 'b'", "'a", "'\\n'", "concat('a')"])
def test_other_texts_are_no_constants(text: str) -> None:
    assert text_constant(text) is None
