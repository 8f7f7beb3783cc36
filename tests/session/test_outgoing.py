"""Rows of programs as lines of JSON."""

from __future__ import annotations

import enum
import json
from collections import OrderedDict, namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow
import pytest

from ksqlpy.errors import KsqlError
from ksqlpy.session.outgoing import lines
from ksqlpy.session.rows import row_type


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class NAType:
    """What pandas has where a value is missing, by its name."""


class Number:
    """A number of numpy."""

    def tolist(self) -> int:
        return 5


VALUES: list[tuple[Any, Any]] = [
    (None, None),
    (True, True),
    (2**63 - 1, 2**63 - 1),
    (2**70, 2**70),
    (0.1, 0.1),
    (float("nan"), None),
    (Decimal("12.50"), "12.50"),
    (Decimal("1E+3"), "1E+3"),
    (Decimal("NaN"), None),
    ("é'\n", "é'\n"),
    (b"\x00\xff", "AP8="),
    (bytearray(b"\x01"), "AQ=="),
    (date(2024, 5, 6), "2024-05-06"),
    (time(7, 8, 9, 12_345), "07:08:09.012"),
    (datetime(2024, 5, 6, 7, 8), "2024-05-06T07:08:00.000"),
    (datetime(2024, 5, 6, 7, 8, tzinfo=UTC), "2024-05-06T07:08:00.000"),
    (datetime(2024, 5, 6, 7, 8, tzinfo=timezone(timedelta(hours=2))), "2024-05-06T05:08:00.000"),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (Colour.RED, "red"),
    (Level.HIGH, 3),
    (NAType(), None),
    (Number(), 5),
    ([1, None, [date(1970, 1, 1)]], [1, None, ["1970-01-01"]]),
    ((1, 2), [1, 2]),
    ({"a": Decimal(1)}, {"a": "1"}),
    ({1: 2**70, "b": b"\x00", "c": float("nan")}, {"1": 2**70, "b": "AA==", "c": None}),
    (OrderedDict(a=1), {"a": 1}),
]


@pytest.mark.parametrize(("given", "wanted"), VALUES, ids=[repr(g)[:40] for g, _ in VALUES])
def test_values(given: Any, wanted: Any) -> None:
    [line] = lines([{"v": given}])
    assert json.loads(line) == {"v": wanted}
    assert b"\n" not in line


Pair = namedtuple("Pair", ("a", "b"))


@dataclass
class Point:
    a: int
    b: Decimal


DAY = date(2024, 5, 6)


def generated() -> Iterator[dict[str, int]]:
    yield {"a": 1}
    yield {"a": 2}


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ([], []),
        (({"a": n} for n in range(2)), [{"a": 0}, {"a": 1}]),
        (generated(), [{"a": 1}, {"a": 2}]),
        ([Pair(1, "x")], [{"a": 1, "b": "x"}]),
        ([Point(1, Decimal("2.0"))], [{"a": 1, "b": "2.0"}]),
        ([row_type(("A", "B"))([1, 2])], [{"A": 1, "B": 2}]),
        (pyarrow.table({"a": [1, None], "d": [DAY, None]}), [{"a": 1, "d": "2024-05-06"}, {"a": None, "d": None}]),
    ],
    ids=["none", "expression", "generator", "namedtuple", "dataclass", "row", "arrow"],
)
def test_kinds_of_rows(rows: Any, wanted: list[Any]) -> None:
    assert [json.loads(line) for line in lines(rows)] == wanted


def frame(module: str, **methods: Any) -> Any:
    """A data frame of a library that is not there: only its module and one method are looked at."""
    return type("DataFrame", (), {"__module__": f"{module}.core.frame", **methods})()


def test_data_frames() -> None:
    pandas = frame("pandas", to_dict=lambda self, kind: [{"a": 1, "kind": kind}])
    polars = frame("polars", iter_rows=lambda self, named: iter([{"a": 1, "named": named}]))
    assert [json.loads(line) for line in lines(pandas)] == [{"a": 1, "kind": "records"}]
    assert [json.loads(line) for line in lines(polars)] == [{"a": 1, "named": True}]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"a": 1}, "rows are wanted, this is one dict"),
        ("a", "rows are wanted, this is one str"),
        (7, "rows are wanted, this is a int"),
        ([{"a": 1}, 7], "row 2 is a int, 7"),
        ([(1, 2)], "row 1 is a tuple"),
        ([{"a": object()}], "row 1 cannot be sent: "),
        ([{"a": float("inf")}], "row 1 cannot be sent: JSON has no infinite numbers"),
        ([{"a": [2**70, float("inf")]}], "row 1 cannot be sent: "),
        ([{"a": "\ud800"}], "row 1 cannot be sent: "),
        ([{"a": {1, 2}}], "row 1 cannot be sent: a set is no value of a column"),
    ],
)
def test_what_are_no_rows(rows: Any, said: str) -> None:
    with pytest.raises(KsqlError) as refused:
        list(lines(rows))
    assert refused.value.code == "bad-row" and refused.value.message.startswith(said)


def test_rows_ahead_of_a_bad_one_are_given() -> None:
    found = []
    with pytest.raises(KsqlError):
        for line in lines([{"a": 1}, 7, {"a": 2}]):
            found.append(line)  # until it fails
    assert found == [b'{"a":1}']
