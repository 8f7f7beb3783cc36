"""Data frames as rows that are inserted: the same lines as of dicts, whatever holds them."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import numpy
import pandas
import polars
import pyarrow as pa
import pytest

from ksqlpy.session.inbox import Given
from ksqlpy.session.outgoing import lines
from ksqlpy.session.result import Result
from ksqlpy.session.rows import Column
from ksqlpy.types import BIGINT, BYTES, DATE, STRING, TIMESTAMP, DecimalType, MapType

ROWS: list[dict[str, Any]] = [
    {
        "id": 2**53 + 1,
        "zone": "Zürich",
        "fare": Decimal("1.50"),
        "at": datetime(2024, 5, 6, 7, 8, 9, 123000, tzinfo=UTC),
    },
    {"id": None, "zone": None, "fare": None, "at": None},
]
EXPECTED = [
    {"id": 2**53 + 1, "zone": "Zürich", "fare": "1.50", "at": "2024-05-06T07:08:09.123"},
    {"id": None, "zone": None, "fare": None, "at": None},
]
TABLE = pa.Table.from_pylist(
    ROWS,
    pa.schema(
        [("id", pa.int64()), ("zone", pa.string()), ("fare", pa.decimal128(6, 2)), ("at", pa.timestamp("ns", "UTC"))]
    ),
)
AT = pandas.Series([ROWS[0]["at"], None], dtype="datetime64[ns, UTC]")


def sent(rows: object) -> list[Any]:
    return [json.loads(line) for line in lines(rows)]


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        TABLE,
        TABLE.to_batches()[0],
        TABLE.to_reader(),
        polars.DataFrame(ROWS),
        pandas.DataFrame(ROWS, dtype=object).assign(at=AT),
        TABLE.to_pandas(types_mapper=pandas.ArrowDtype),
        TABLE.set_column(1, "zone", TABLE["zone"].dictionary_encode()),
    ],
    ids=["dicts", "table", "batch", "reader", "polars", "pandas", "pandas over Arrow", "dictionary"],
)
def test_a_frame_is_sent_as_its_rows(rows: object) -> None:
    assert sent(rows) == EXPECTED


def test_what_pandas_takes_for_missing() -> None:
    frame = pandas.DataFrame({"a": [1.5, float("nan")], "b": pandas.array([True, None], "boolean")})
    assert sent(frame) == [{"a": 1.5, "b": True}, {"a": None, "b": None}]
    numbers = {"a": numpy.float64("nan"), "b": numpy.int32(7), "c": numpy.bool_(True)}
    assert sent([numbers]) == [{"a": None, "b": 7, "c": True}]


def test_nested_values_of_arrow() -> None:
    kinds = pa.schema(
        [
            ("m", pa.map_(pa.string(), pa.int64())),
            ("l", pa.list_(pa.map_(pa.string(), pa.decimal128(3, 1)))),
            ("p", pa.struct([("day", pa.date32()), ("t", pa.time32("ms"))])),
            ("b", pa.binary()),
        ]
    )
    row = {"m": {"k": 1}, "l": [{"x": Decimal("0.5")}], "p": {"day": date(2024, 5, 6), "t": time(7, 8)}, "b": b"hi"}
    table = pa.Table.from_pylist([{**row, "m": [("k", 1)], "l": [[("x", Decimal("0.5"))]]}], kinds)
    meant = {"m": {"k": 1}, "l": [{"x": "0.5"}], "p": {"day": "2024-05-06", "t": "07:08:00.000"}, "b": "aGk="}
    assert sent(table) == sent([row]) == [meant]


def test_a_result_is_sent_as_its_rows_without_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    columns = (Column("ID", BIGINT), Column("B", BYTES), Column("D", DATE), Column("AT", TIMESTAMP))
    columns += (Column("F", DecimalType(4, 2)), Column("M", MapType(STRING, BIGINT)))
    result = Result(Given("q", columns, [[1, "aGk=", 0, 1, Decimal("1.50"), {"k": 1}]]))
    assert sent(result) == [
        {"ID": 1, "B": "aGk=", "D": "1970-01-01", "AT": "1970-01-01T00:00:00.001", "F": "1.50", "M": {"k": 1}}
    ]
