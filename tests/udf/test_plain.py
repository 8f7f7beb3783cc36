"""Functions in Python on plain rows, as lookups and plain push queries call them, without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Output
from ksqlpy.errors import EngineProblem
from ksqlpy.functions import Call
from ksqlpy.functions.python import python_function
from ksqlpy.reading.conditions import condition_of
from ksqlpy.reading.results import projection_of
from ksqlpy.runtime.pythonfunctions import answered
from ksqlpy.types import BIGINT, BOOLEAN, BYTES, DOUBLE, INTEGER, STRING, TIMESTAMP, SqlType
from ksqlpy.udfs.definition import Definition
from ksqlpy.udfs.pool import Settings, Workers


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    made = Workers(Settings(workers=2))
    yield made
    made.close()


def call(body: str, gives: SqlType, *arguments: t.Expr, **more: Any) -> t.FunctionCall:
    parameters = tuple((f"a{i}", a.type) for i, a in enumerate(arguments))
    definition = Definition("F", "SCALAR", parameters, gives, body, "f", **{"timeout_ms": 20_000, **more})
    function = python_function(definition)
    resolved = Call(function, function.signatures[0], definition.arguments, gives)
    return t.FunctionCall(gives, resolved, arguments)


NAME, AGE, AT = t.ColumnRef(STRING, "NAME"), t.ColumnRef(INTEGER, "AGE"), t.ColumnRef(TIMESTAMP, "AT")
ADA: dict[str, Any] = {"NAME": "Ada", "AGE": 36, "AT": 1000}
NOBODY: dict[str, Any] = {"NAME": None, "AGE": None, "AT": None}


def columns(workers: Workers, row: dict[str, Any], *exprs: t.Expr) -> list[Any]:
    project = projection_of(
        [Output(f"C{i}", e) for i, e in enumerate(exprs)], calls=lambda d, a: answered(workers, d, a)
    )
    assert project is not None
    return project(row)


def holds(workers: Workers, row: dict[str, Any], expr: t.Expr) -> bool:
    condition = condition_of(expr, calls=lambda d, a: answered(workers, d, a))
    assert condition is not None
    return condition(row)


def test_columns(workers: Workers) -> None:
    shout = call("def f(x):\n    return x and x.upper()", STRING, NAME)
    inside = call(
        "def f(x, y, z):\n    return f'{x} {y} {z}'", STRING, shout, t.Literal(STRING, "!"), t.Cast(BIGINT, AGE)
    )
    raw = call("def f(x):\n    return bytes(x)", BYTES, t.Literal(INTEGER, 2))
    half = call("def f(x):\n    return x / 0.0 if x == 0 else float('nan')", DOUBLE, AGE)
    later = call("import datetime\ndef f(x):\n    return x and x + datetime.timedelta(seconds=1)", TIMESTAMP, AT)
    assert columns(workers, ADA, shout, inside, raw, half, later) == ["ADA", "ADA ! 36", "AAA=", "NaN", 2000]
    assert columns(workers, NOBODY, shout, inside, later) == [None, "None ! None", None]


def test_conditions(workers: Workers) -> None:
    adult = call("def f(x):\n    return None if x is None else x >= 18", BOOLEAN, AGE)
    length = call("def f(x):\n    return len(x or '')", INTEGER, NAME)
    three = t.Compare(BOOLEAN, "=", length, t.Literal(INTEGER, 3))
    assert holds(workers, ADA, adult)
    assert not holds(workers, NOBODY, adult)
    assert holds(workers, ADA, t.Logical(BOOLEAN, "AND", adult, three))
    assert not holds(workers, ADA, t.Not(BOOLEAN, three))


def test_what_is_left_to_spark() -> None:
    adult = call("def f(x):\n    return x >= 18", BOOLEAN, AGE)
    never: Any = lambda definition, arguments: 1 / 0  # noqa: E731
    assert condition_of(t.Not(BOOLEAN, adult), calls=never) is None  # NOT of null is null
    assert condition_of(t.Not(BOOLEAN, t.Logical(BOOLEAN, "AND", adult, adult)), calls=never) is None
    assert condition_of(adult) is None
    assert projection_of([Output("C", adult)]) is None
    assert projection_of([Output("C", call("def f(x): pass", STRING, t.Negate(INTEGER, AGE)))], calls=never) is None


@pytest.mark.parametrize("arguments", [(), (AGE,)])
def test_what_fails_is_null_or_ends_the_query(workers: Workers, arguments: Sequence[t.Expr]) -> None:
    body = "def f(*x):\n    return str(1 / 0)"
    assert columns(workers, ADA, call(body, STRING, *arguments)) == [None]
    assert columns(workers, ADA, call(body, STRING, *arguments, on_error="dead-letter")) == [None]
    with pytest.raises(EngineProblem) as caught:
        columns(workers, ADA, call(body, STRING, *arguments, on_error="stop"))
    assert caught.value.code == "function-failed"
    assert str(caught.value) == "function F: ZeroDivisionError: division by zero (line 2)"
    assert "return str(1 / 0)" in caught.value.__notes__[0]
