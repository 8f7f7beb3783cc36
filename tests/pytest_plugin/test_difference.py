"""Rows that are expected against rows that came."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from ksqlpy.pytest_plugin.difference import difference
from ksqlpy.pytest_plugin.rows import Deleted, expected
from ksqlpy.types import BIGINT, DATE, DOUBLE, STRING, TIME, TIMESTAMP, ArrayType, DecimalType, MapType, StructType

MOMENT = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)


def test_columns_that_no_row_names_are_not_compared() -> None:
    came = [{"K": 1, "N": 1, "ROWTIME": 5}, {"K": 2, "N": None, "ROWTIME": 6}]
    assert difference([{"N": 1}, {"N": None}], came) is None
    assert difference([{"K": 1, "N": 1}, {"K": 2}], came) is None
    assert difference([{"K": 1}, {"N": 2}], came[:1]) == [
        "  - {K: 1, N: None}",
        "  - {K: None, N: 2}",
        "  + {K: 1, N: 1}",
    ]


def test_rows_that_are_missing_and_too_many() -> None:
    one, two = {"K": 1, "N": 1}, {"K": 2, "N": 2}
    assert difference([one, two], [one, two]) is None
    assert difference([one, two], [two]) == ["  - {K: 1, N: 1}", "    {K: 2, N: 2}"]
    assert difference([], [two]) == ["  + {K: 2, N: 2}"]
    assert difference([two], []) == ["  - {K: 2, N: 2}"]
    assert difference([one, two], [two, one]) == ["  + {K: 2, N: 2}", "    {K: 1, N: 1}", "  - {K: 2, N: 2}"]


def test_rows_that_are_deleted() -> None:
    gone = Deleted(K=1, ROWTIME=5)
    assert difference([Deleted(K=1)], [gone]) is None
    assert difference([Deleted(K=2)], [gone]) == ["  - deleted(K=2)", "  + deleted(K=1)"]
    assert difference([{"K": 1, "N": None}], [gone]) == ["  - {K: 1, N: None}", "  + deleted(K=1, ROWTIME=5)"]


def test_what_cannot_be_read_is_shown() -> None:
    assert difference([{"K": 1}], [{"unreadable": "no JSON"}]) == ["  - {K: 1}", "  + {unreadable: 'no JSON'}"]


def test_long_differences_are_cut() -> None:
    lines = difference([], [{"K": i} for i in range(100)])
    assert lines is not None and len(lines) == 61 and lines[-1] == "    … 40 more lines"


@pytest.mark.parametrize(
    ("value", "type_", "meant"),
    [
        (0.1, DecimalType(3, 1), Decimal("0.1")),
        ("1.50", DecimalType(3, 2), Decimal("1.50")),
        ("much", DecimalType(3, 2), "much"),
        (3, DOUBLE, 3.0),
        (True, DOUBLE, True),
        ("2024-05-06T09:08:09+02:00", TIMESTAMP, MOMENT),
        (datetime(2024, 5, 6, 7, 8, 9), TIMESTAMP, MOMENT),
        (1714979289000, TIMESTAMP, MOMENT),
        ("never", TIMESTAMP, "never"),
        ("2024-05-06", DATE, date(2024, 5, 6)),
        ("07:08", TIME, time(7, 8)),
        (MOMENT, BIGINT, 1714979289000),
        (("a", None), ArrayType(STRING), ["a", None]),
        ({"k": "1.5"}, MapType(STRING, DecimalType(2, 1)), {"k": Decimal("1.5")}),
        ({"x": 1}, StructType((("X", DOUBLE), ("Y", STRING))), {"X": 1.0, "Y": None}),
        ({"z": 1}, StructType((("X", DOUBLE),)), {"X": None, "Z": 1}),
        (None, DOUBLE, None),
    ],
)
def test_a_value_is_meant_in_the_type_of_its_column(value: Any, type_: Any, meant: Any) -> None:
    found = expected(value, type_)
    assert (found, type(found)) == (meant, type(meant))
