"""How the literals of INSERT … VALUES become what their columns want."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ksqlpy.analysis import analyze_create, analyze_insert
from ksqlpy.analysis import typed as t
from ksqlpy.catalog import Catalog
from ksqlpy.config import Config
from ksqlpy.errors import AnalysisProblem
from ksqlpy.sql import parse
from ksqlpy.types import INTEGER, DecimalType

DECLARED = """CREATE STREAM s (k STRING KEY, i INT, d DOUBLE, b BOOLEAN, a ARRAY<INT>, m DECIMAL(5, 2),
    l BIGINT, day DATE, clock TIME, moment TIMESTAMP, y BYTES, dates ARRAY<DATE>, st STRUCT<day DATE, y BYTES>)
  WITH (kafka_topic = 's', value_format = 'JSON', partitions = 1);"""


def inserted(column: str, value: str) -> t.Expr:
    [declared] = parse(DECLARED)
    catalog = Catalog()
    source = analyze_create(declared, catalog, Config.of({})).source
    [statement] = parse(f"INSERT INTO s ({column}) VALUES ({value});")
    insert = analyze_insert(statement, catalog.with_source(source))
    return insert.values[[c.name for c in source.columns].index(column.upper())]


@pytest.mark.parametrize(
    ("column", "value", "literal"),
    [
        ("k", "1", "1"),
        ("k", "1.50", "1.50"),
        ("k", "TRUE", "true"),
        ("i", "' 12 '", 12),
        ("d", "'1.5'", 1.5),
        ("b", "'fal'", False),
        ("b", "'Y'", True),
    ],
)
def test_literals_become_what_the_column_is(column: str, value: str, literal: object) -> None:
    found = inserted(column, value)
    assert isinstance(found, t.Literal)
    assert found.value == literal
    assert type(found.value) is type(literal)


def test_text_of_a_decimal_is_one() -> None:
    assert inserted("m", "'1.5'") == t.Literal(DecimalType(5, 2), Decimal("1.50"))


def test_literals_in_constructors_too() -> None:
    found = inserted("a", "ARRAY['1', 2]")
    assert isinstance(found, t.ArrayOf)
    assert found.items == (t.Literal(INTEGER, 1), t.Literal(INTEGER, 2))


@pytest.mark.parametrize(
    ("column", "value", "code"),
    [
        ("i", "'twelve'", "invalid-number"),
        ("a", "ARRAY['x']", "invalid-number"),
        ("b", "1", "wrong-type"),
        ("i", "1.5", "wrong-type"),
        ("i", "'1.5'", "wrong-type"),
        ("i", "'2147483648'", "number-too-large"),
        ("l", "'9223372036854775808'", "number-too-large"),
        ("l", "1e30", "number-too-large"),
        ("m", "1234.5", "number-too-large"),
        ("m", "999.995", "number-too-large"),
        ("m", "'1234'", "number-too-large"),
        ("day", "'2023-02-29'", "invalid-time"),
        ("clock", "'24:00'", "invalid-time"),
        ("moment", "'2023-13-01'", "invalid-time"),
        ("y", "'!!'", "invalid-bytes"),
        ("dates", "ARRAY['2024-05-06', 'soon']", "invalid-time"),
        ("st", "STRUCT(day := 'soon')", "invalid-time"),
        ("st", "STRUCT(y := '!!')", "invalid-bytes"),
    ],
)
def test_other_literals_are_refused(column: str, value: str, code: str) -> None:
    with pytest.raises(AnalysisProblem) as caught:
        inserted(column, value)
    assert caught.value.code == code
