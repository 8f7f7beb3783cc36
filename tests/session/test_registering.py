"""Functions of a program as statements: their texts are whole, and what cannot be one is told."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from ksqlpy.errors import KsqlError
from ksqlpy.session.registering import statements
from ksqlpy.session.session import Session
from ksqlpy.sql import parse
from tests.session import registered
from tests.support.fake_engine import FakeEngine


def defined(function: Any, name: str | None = None) -> tuple[str, dict[str, Any]]:
    """The head of its statement, and what its text defines, run in a process of its own kind: here."""
    [statement] = statements(function, name)
    parse(statement)
    head, body = statement.split("\nAS $$", 1)
    module = ModuleType("elsewhere")  # as a worker has it
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "elsewhere", module)
        exec(body.removesuffix("$$;"), module.__dict__)
    return head, module.__dict__


def test_a_function_with_what_it_names() -> None:
    head, space = defined(registered.distance)
    assert head == (
        "CREATE OR REPLACE FUNCTION `DISTANCE_OF`(`P` STRUCT<`X` DOUBLE, `Y` DOUBLE>)\n"
        "  RETURNS DOUBLE LANGUAGE PYTHON\n  WITH (TIMEOUT = '2000 milliseconds')"
    )
    assert space["distance_of"] is space["distance"] is not registered.distance
    assert space["distance"](space["Point"](3.0, 4.0)) == 5.0
    [statement] = statements(registered.distance, None)
    assert "# as the crow flies" in statement and "RATE" not in statement and "lru_cache" not in statement


def test_values_decorators_and_other_kinds() -> None:
    head, space = defined(registered.zone)
    assert "`ZONE`(`NUMBER` BIGINT)\n  RETURNS STRING" in head
    assert [space["zone"](n) for n in (1, 3, 9)] == ["north", "south", None]
    _, space = defined(registered.rated)
    assert space["rated"](2) == registered.RATE * 2
    head, space = defined(registered.words, "split_words")
    assert head.startswith("CREATE OR REPLACE TABLE FUNCTION `SPLIT_WORDS`(`TEXT` STRING)")
    assert [*space["split_words"]("One 2 three")] == ["One", "three"]
    head, space = defined(registered.Longest)
    assert head.startswith("CREATE OR REPLACE AGGREGATE FUNCTION `LONGEST`(`TEXT` STRING)\n")
    assert "  RETURNS STRING STATE STRING LANGUAGE PYTHON" in head
    assert space["Longest"]().add("a", "bc") == "bc"
    assert space["Longest"].__ksqlpy__.described()["kind"] == "AGGREGATE"
    _, space = defined(registered.in_a_function(5))
    assert (space["above"](5), space["above"](6)) == (False, True)


def test_an_installed_function_is_tried_by_its_module() -> None:
    def of_standard_library(function: Callable[..., Any]) -> list[str]:
        function.__annotations__ = {"data": list[float], "return": float}
        return statements(function, "middle")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics.median, "__annotations__", {})
        by_module, by_text = of_standard_library(statistics.median)
        del statistics.median.__dict__["__ksqlpy__"]
    assert by_module.endswith("AS 'statistics:median';")
    assert "from statistics import StatisticsError" in by_text or "class StatisticsError" in by_text


@pytest.mark.parametrize(
    ("function", "code", "said"),
    [
        (registered.with_an_engine, "bad-function", "with_an_engine names OPEN, a _Open, which cannot be given"),
        (registered.dollars, "bad-function", "dollars has $$ in it"),
        (registered.without, "bad-annotation", "the parameter number and result has no annotation"),
        (lambda n: n, "bad-declaration", "a lambda has no annotations"),
        (7, "bad-function", "7 is no function"),
        (math.sqrt, "bad-declaration", "a function is expected here"),
        (Session, "bad-declaration", "the class has no method init"),
    ],
)
def test_what_cannot_be_one(function: Any, code: str, said: str) -> None:
    with pytest.raises(KsqlError) as refused:
        statements(function, None)
    assert refused.value.code == code and said in refused.value.message


def test_a_session_creates_it(session: Session, engine: FakeEngine) -> None:
    @session.register
    def twice(number: int) -> int:
        return 2 * number

    assert twice(4) == 8
    [(sql, _)] = engine.calls
    assert sql.startswith("CREATE OR REPLACE FUNCTION `TWICE`(`NUMBER` BIGINT)\n  RETURNS BIGINT LANGUAGE PYTHON")
    assert "@ksqlpy.udf\ndef twice(number: int) -> int:\n    return 2 * number\n" in sql
    session.close()
    with pytest.raises(KsqlError) as closed:
        session.register(twice)
    assert closed.value.code == "session-closed"
