"""Rows that come from a server as columns: the bytes of an answer, and what rows are made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from ksqlpy.arrowtypes import arrow_type
from ksqlpy.querylines import query_items
from ksqlpy.server.response_encoders import Exact
from ksqlpy.session.arrow import table
from ksqlpy.session.columns import Columns, read
from ksqlpy.session.inbox import Inbox
from ksqlpy.session.result import Result
from ksqlpy.session.rows import Column
from ksqlpy.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    SqlType,
    StructType,
)

POINT = StructType((("x", DOUBLE), ("on", ArrayType(DATE))))
VALUES: list[tuple[SqlType, list[Any]]] = [
    (BOOLEAN, [True, None, False]),
    (BIGINT, [2**63 - 1, None, -(2**63)]),
    (DOUBLE, [0.5, None, -1e308]),
    (STRING, ["é\n😀", None, ""]),
    (BYTES, ["AP8=", None, ""]),
    (DecimalType(38, 2), [Decimal("9" * 36 + ".99"), None, Decimal("0.00")]),
    (DATE, [4_000_000, None, -719_162]),
    (TIME, [86_399_999, None, 0]),
    (TIMESTAMP, [-1, None, 253_402_300_800_000]),
    (ArrayType(ArrayType(TIMESTAMP)), [[[1, None], None, []], None, []]),
    (POINT, [{"x": 1.5, "on": [0, None]}, None, {"x": None, "on": None}]),
    (ArrayType(POINT), [[{"x": 1.0, "on": []}, None], None, []]),
]


@pytest.mark.parametrize(("type_", "values"), VALUES, ids=[str(t) for t, _ in VALUES])
def test_rows_of_columns_are_what_the_columns_were_made_of(type_: SqlType, values: list[Any]) -> None:
    columns = (Column("V", type_),)
    [batch] = table(columns, [[[v] for v in values]]).to_batches()
    assert batch.schema.field("V").type == arrow_type(type_, pa)
    found = Columns([batch, batch.slice(1)], columns)
    assert found.rows() == [[v] for v in [*values, *values[1:]]]
    assert len(found) == 5 and len(found.joined([found])) == 10


NUMBERS = (Column("N", BIGINT),)


def batch(*numbers: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"N": numbers}, pa.schema([("N", pa.int64())]))


class Piece:
    """Numbers that are there as columns, too."""

    def __init__(self, numbers: range) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def joined(self, others: Sequence[Piece]) -> Piece:
        return Piece(range(self._numbers.start, [self, *others][-1]._numbers.stop))

    def rows(self) -> list[list[int]]:
        return [[n] for n in self._numbers]

    def batches(self) -> Iterator[Any]:
        middle = self._numbers[len(self) // 2]
        yield batch(*range(self._numbers.start, middle))
        yield [[n] for n in range(middle, self._numbers.stop)]


def sent(*, columnar: bool, left: int | None = None) -> bytes:
    encoder = Exact("application/vnd.ksqlapi.delimited.v1", columnar=columnar)
    header = encoder.header("q1", [])
    parts = [*encoder.piece(Piece(range(3)), left), *encoder.piece(Piece(range(3, 4_000)), left)]  # type: ignore[arg-type]
    return header + b"\n" + b"".join(data for data, _ in parts) + encoder.row([-1])


def received(data: bytes, size: int) -> list[int]:
    found: list[int] = []
    header, *items = query_items(data[i : i + size] for i in range(0, len(data), size))
    assert header["queryId"] == "q1"
    for item in items:
        rows = [item] if isinstance(item, list) else read(item, NUMBERS).rows()
        found += [n for [n] in rows]
    return found


@pytest.mark.parametrize("columnar", [False, True])
@pytest.mark.parametrize("size", [1, 7, 1000, 2**20])
def test_an_answer_in_pieces_of_any_size(columnar: bool, size: int) -> None:
    data = sent(columnar=columnar)
    assert (b"arrowBytes" in data) == columnar
    assert received(data, size) == [*range(4_000), -1]


def test_a_value_that_looks_as_if_bytes_followed() -> None:
    rows = b'[{"arrowBytes":5}]\n["{\\"arrowBytes\\":5}"]\n'
    data = b'{"queryId":"q"}\n' + rows + sent(columnar=True).split(b"\n", 1)[1]
    for size in (1, 5, 2**20):
        items = list(query_items(data[i : i + size] for i in range(0, len(data), size)))
        assert items[1:3] == [[{"arrowBytes": 5}], ['{"arrowBytes":5}']]
        assert sum(isinstance(item, bytes) for item in items) == 1


def test_no_more_rows_than_are_wanted() -> None:
    encoder = Exact("", columnar=True)
    encoder.header("q", [])
    for left in (1_000, 3_000):
        assert sum(count for _, count in encoder.piece(Piece(range(4_000)), left)) == left  # type: ignore[arg-type]


def result(limit: int | None, *items: Any) -> Result:
    def come() -> Iterator[Any]:
        yield from items

    return Result(Inbox("q", NUMBERS, come(), lambda: None, limit))  # type: ignore[arg-type]  # a generator


@pytest.mark.parametrize("limit", [None, 0, 1, 3, 4, 5, 12, 13, 14, 100])
def test_rows_and_columns_end_at_the_limit(limit: int | None) -> None:
    items = [[0], Piece(range(1, 5)), None, Piece(range(5, 13)), [13]]
    wanted = [*range(14)][:limit]
    assert [n for (n,) in result(limit, *items)] == wanted
    assert result(limit, *items).arrow().column("N").to_pylist() == wanted
    mixed = result(limit, *items)
    first = mixed.fetchmany(2)
    assert [n for (n,) in first] + mixed.arrow().column("N").to_pylist() == wanted
    stream = pa.RecordBatchReader.from_stream(result(limit, *items))
    assert stream.read_all().column("N").to_pylist() == wanted


def test_rows_behind_columns() -> None:
    answer = result(None, Columns([batch(1, 2)], NUMBERS), Columns([batch(3)], NUMBERS), [4])
    assert answer.fetchone() == (1,)
    assert answer.arrow().column("N").to_pylist() == [2, 3, 4]
