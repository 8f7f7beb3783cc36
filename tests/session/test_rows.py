"""Rows and values as programs have them."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from ksqlpy.errors import KsqlError
from ksqlpy.session.rows import Column, row_type
from ksqlpy.session.values import row_maker
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


def test_a_row_by_name_attribute_and_position() -> None:
    row = row_type(("BOROUGH", "N", "viewTime"))(["Queens", 3, 7])
    assert row == ("Queens", 3, 7) and tuple(row) == ("Queens", 3, 7)
    assert (row[0], row[-1], row[1:]) == ("Queens", 7, (3, 7))
    assert (row["N"], row["n"], row.n, row.N) == (3, 3, 3, 3)
    assert (row["viewTime"], row.viewTime) == (7, 7)
    assert row.asdict() == {"BOROUGH": "Queens", "N": 3, "viewTime": 7}
    assert repr(row) == "Row(BOROUGH='Queens', N=3, viewTime=7)"
    borough, n, _ = row
    assert (borough, n) == ("Queens", 3)


def test_what_a_row_has_not() -> None:
    row = row_type(("BOROUGH", "N"))(["Queens", 3])
    with pytest.raises(AttributeError, match="the row has no column total; it has BOROUGH, N"):
        _ = row.total
    with pytest.raises(KeyError, match="total"):
        _ = row["total"]
    with pytest.raises(IndexError):
        _ = row[2]
    assert not hasattr(row, "__array_interface__")


def test_columns_named_as_methods_of_tuples() -> None:
    row = row_type(("COUNT", "INDEX", "_FIELDS", "ASDICT"))([1, 2, 3, 4])
    assert (row.count, row.index, row["_FIELDS"], row["asdict"]) == (1, 2, 3, 4)
    assert row.asdict() == {"COUNT": 1, "INDEX": 2, "_FIELDS": 3, "ASDICT": 4}


def test_names_that_differ_in_case_only() -> None:
    row = row_type(("n", "N"))([1, 2])
    assert (row["n"], row["N"], row.n, row.N) == (1, 2, 1, 2)


def test_rows_go_to_other_processes() -> None:
    row = row_type(("A", "B"))([1, [2]])
    for made in (pickle.loads(pickle.dumps(row)), copy.deepcopy(row)):
        assert made == row and type(made) is type(row) and made.b == [2]


INNER = StructType((("DAY", DATE), ("TEXT", STRING)))
VALUES: list[tuple[SqlType, Any, Any]] = [
    (BOOLEAN, True, True),
    (INTEGER, 7, 7),
    (BIGINT, 2**62, 2**62),
    (STRING, "é", "é"),
    (DOUBLE, Decimal("0.5"), 0.5),
    (DOUBLE, "-Infinity", float("-inf")),
    (DOUBLE, 3, 3.0),
    (DecimalType(6, 2), Decimal("1.50"), Decimal("1.50")),
    (DecimalType(6, 0), 12, Decimal(12)),
    (BYTES, "AAH/", b"\x00\x01\xff"),
    (DATE, 19849, date(2024, 5, 6)),
    (DATE, "2024-05-06", date(2024, 5, 6)),
    (TIME, 25_689_012, time(7, 8, 9, 12_000)),
    (TIME, "07:08", time(7, 8)),
    (TIMESTAMP, 1714979289012, datetime(2024, 5, 6, 7, 8, 9, 12_000, UTC)),
    (TIMESTAMP, -1, datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC)),
    (TIMESTAMP, "2024-05-06T07:08:09.012", datetime(2024, 5, 6, 7, 8, 9, 12_000, UTC)),
    (ArrayType(DATE), [0, None], [date(1970, 1, 1), None]),
    (ArrayType(STRING), ["a"], ["a"]),
    (MapType(STRING, BYTES), {"a": "AA==", "b": None}, {"a": b"\x00", "b": None}),
    (INNER, {"DAY": 1, "TEXT": "x"}, {"DAY": date(1970, 1, 2), "TEXT": "x"}),
    (INNER, {"DAY": None, "TEXT": None}, {"DAY": None, "TEXT": None}),
    (
        ArrayType(MapType(STRING, INNER)),
        [{"a": {"DAY": 0, "TEXT": ""}}],
        [{"a": {"DAY": date(1970, 1, 1), "TEXT": ""}}],
    ),
]


@pytest.mark.parametrize(("type_", "given", "wanted"), VALUES, ids=[f"{t}-{g}" for t, g, _ in VALUES])
def test_values(type_: SqlType, given: Any, wanted: Any) -> None:
    made = row_maker([Column("V", type_), Column("W", type_)])
    own = [given, None]
    row = made(own)
    assert row == (wanted, None) and type(row.v) is type(wanted)
    assert own == [given, None], "the row belongs to others, too"


@pytest.mark.parametrize(("type_", "given"), [(DATE, -(10**9)), (DATE, "+10000-01-01"), (TIMESTAMP, 10**17)])
def test_a_day_that_python_has_not(type_: SqlType, given: Any) -> None:
    with pytest.raises(KsqlError) as raised:
        row_maker([Column("V", type_)])([given])
    assert raised.value.code == "date-out-of-range"
    assert "CAST(… AS STRING)" in (raised.value.hint or "")
