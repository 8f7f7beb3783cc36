"""The texts of dates and times in answers."""

from __future__ import annotations

from typing import Any

import pytest

from ksqlpy.reading.times import texts_of
from ksqlpy.types import DATE, INTEGER, STRING, TIME, TIMESTAMP, ArrayType, MapType, SqlType, StructType


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (DATE, 0, "1970-01-01"),
        (DATE, -1, "1969-12-31"),
        (DATE, 2_932_896, "9999-12-31"),
        (DATE, 2_932_897, "+10000-01-01"),
        (DATE, -719_162, "0001-01-01"),
        (DATE, -719_529, "-0001-12-31"),
        (TIME, 0, "00:00"),
        (TIME, 86_399_999, "23:59:59"),
        (TIME, 3_600_000, "01:00"),
        (TIMESTAMP, 0, "1970-01-01T00:00:00.000"),
        (TIMESTAMP, -1, "1969-12-31T23:59:59.999"),
        (ArrayType(DATE), [0, None], ["1970-01-01", None]),
        (MapType(STRING, TIME), {"a": 0, "b": None}, {"a": "00:00", "b": None}),
        (StructType((("A", DATE), ("B", INTEGER))), {"A": 0, "B": 0}, {"A": "1970-01-01", "B": 0}),
    ],
)
def test_a_value_and_its_text(kind: SqlType, value: Any, text: Any) -> None:
    texts = texts_of([INTEGER, kind])
    assert texts is not None
    assert texts([5, value]) == [5, text]
    assert texts([5, None]) == [5, None]


def test_rows_without_times_stay_as_they_are() -> None:
    assert texts_of([INTEGER, ArrayType(INTEGER)]) is None
