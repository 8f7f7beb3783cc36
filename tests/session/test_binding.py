"""``:name`` in a query: ``bindings.txt`` has values and their literals, ``texts.txt`` texts and what is run."""

from __future__ import annotations

import enum
from collections import namedtuple
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ksqlpy.analysis.expressions import ExpressionAnalyzer
from ksqlpy.analysis.scope import Scope, Text
from ksqlpy.errors import KsqlError, Span, SyntaxProblem
from ksqlpy.reading import folded
from ksqlpy.session.binding import bind
from ksqlpy.sql import parse
from ksqlpy.sql.tokens import parameters
from ksqlpy.types import BIGINT, BOOLEAN, BYTES, DATE, DOUBLE, INTEGER, STRING, TIME, TIMESTAMP, DecimalType

FOLDER = Path(__file__).parent
LINES = (FOLDER / "bindings.txt").read_text(encoding="utf-8").splitlines()
BLOCKS = (FOLDER / "texts.txt").read_text(encoding="utf-8").strip("\n").split("\n\n")[1:]

Point = namedtuple("Point", "lat lon")  # as programs have them


class Level(enum.StrEnum):
    HIGH = "high"


endless: list[Any] = []
endless.append(endless)
NAMES = {
    "Decimal": Decimal, "date": date, "datetime": datetime, "time": time, "timedelta": timedelta,
    "timezone": timezone, "Point": Point, "Level": Level, "endless": endless,
}  # fmt: skip


def pairs(mark: str) -> list[tuple[str, str]]:
    found = [line.partition(mark) for line in LINES if mark in line]
    return [(value, expected) for value, _, expected in found]


def test_all_lines_are_run() -> None:
    assert len(LINES) == 3 + len(pairs("  ->  ")) + len(pairs("  !!  "))


@pytest.mark.parametrize(("value", "expected"), pairs("  ->  "))
def test_a_value_is_a_literal(value: str, expected: str) -> None:
    assert bind("SELECT :x FROM s;", {"x": eval(value, NAMES)}).text == f"SELECT {expected} FROM s;"
    parse(f"SELECT {expected} FROM s;")


@pytest.mark.parametrize(("value", "expected"), pairs("  !!  "))
def test_a_value_is_refused_at_its_place(value: str, expected: str) -> None:
    with pytest.raises(KsqlError) as caught:
        bind("SELECT :x FROM s;", {"x": eval(value, NAMES)})
    assert caught.value.code == "unsupported-value"
    assert caught.value.summary() == f"line 1:8: {expected}"


@pytest.mark.parametrize("block", BLOCKS, ids=[b[:50] for b in BLOCKS])
def test_a_text_is_bound(block: str) -> None:
    written, _, expected = block.partition("\n----\n")
    sql, _, values = written.rpartition("\nwith")
    try:
        text = bind(sql, eval(f"dict({values})", NAMES)).text
    except KsqlError as e:
        text = e.render()
    assert text == expected


def test_numbers_of_numpy_are_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    values = {"a": numpy.int64(-7), "b": numpy.float64(1.5), "c": numpy.bool_(True), "d": numpy.str_("x")}
    assert bind("SELECT :a, :b, :c, :d FROM s;", values).text == "SELECT -7, 1.5E0, TRUE, 'x' FROM s;"


def test_an_error_has_its_place_in_what_was_written() -> None:
    sql = "SELECT *\nFROM :name WHERE a = :a AND ;"
    bound = bind(sql, {"name": "a long name of a source", "a": 123456789})
    with pytest.raises(SyntaxProblem) as caught:
        parse(bound.text)
    placed = bound.placed(caught.value)
    assert placed.sql == sql
    assert placed.span == Span(sql.index(":name"), sql.index(" WHERE"))
    other = SyntaxProblem("syntax-error", "elsewhere", span=Span(30, 31), sql="another text")
    assert bound.placed(other).span == Span(30, 31)


# ---------------------------------------------------------------- there and back

_DECIMALS = st.builds(
    lambda sign, digits, scale: Decimal((sign, tuple(digits), -scale)),
    st.sampled_from((0, 1)),
    st.lists(st.integers(0, 9), min_size=1, max_size=38),
    st.integers(0, 38),
)
_SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    _DECIMALS,
    st.text(st.characters(codec="utf-8")),
    st.binary(),
    st.dates(),
    st.times(),
    st.datetimes(),
    st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=st.just(timezone(timedelta(hours=5.5)))),
)
_VALUES = _SCALARS | st.dictionaries(st.text(st.characters(codec="utf-8")), st.integers(0, 9), min_size=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def meant(value: Any) -> Any:
    """What a value is inside of the engine."""
    match value:
        case datetime():
            aware = value if value.tzinfo else value.replace(tzinfo=UTC)
            return (aware - _EPOCH) // timedelta(milliseconds=1)
        case date():
            return value.toordinal() - date(1970, 1, 1).toordinal()
        case time():
            return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
    return value


def types_of(value: Any) -> set[Any]:
    match value:
        case bool():
            return {BOOLEAN}
        case int():
            return {INTEGER} if -(2**31) <= value < 2**31 else {BIGINT}
        case Decimal():
            _, digits, exponent = value.as_tuple()
            assert isinstance(exponent, int)
            return {DecimalType(max(len(digits), -exponent), -exponent)}
    kinds = {float: DOUBLE, str: STRING, bytes: BYTES, datetime: TIMESTAMP, date: DATE, time: TIME}
    return {kinds[type(value)]}


def typed(text: str) -> Any:
    [statement] = parse(text)
    [node] = statement.node.expressions
    return ExpressionAnalyzer(Scope(()), Text(text)).analyze(node)


@given(_VALUES)
@settings(max_examples=400, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_value_comes_through_unchanged(value: Any) -> None:
    expr = typed(bind("SELECT :x FROM s;", {"x": value}).text)
    found = folded(expr)
    assert found is not None
    assert repr(found[0]) == repr(meant(value)) or (isinstance(value, Decimal) and found[0] == value)
    if not isinstance(value, dict):
        assert {expr.type} == types_of(value)


_PARTS = (":a", ":b1", "'", "`", '"', " ", "x", "7", "(", ":", "=", "--", "/*", "*/", "\n", "-")


@given(st.lists(st.sampled_from(_PARTS)))
@settings(max_examples=500, derandomize=True, deadline=None)
def test_only_parameters_change(parts: list[str]) -> None:
    """Whatever a text is: what is no parameter stays, and a value never runs into what stands beside it."""
    sql = "".join(parts)
    try:
        places = parameters(sql)
    except SyntaxProblem:
        return
    bound = bind(sql, {p.name: "'--" for p in places})
    rest, taken = sql, bound.text
    for place in reversed(places):
        rest = rest[: place.span.start] + "\0" + rest[place.span.end :]
    assert "".join(taken.replace("'''--'", "\0").split()) == "".join(rest.split())
