"""Rows that come from a server as columns of Arrow."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from ksqlpy.session.rows import Column
from ksqlpy.types import BIGINT, BYTES, DATE, INTEGER, TIME, TIMESTAMP, ArrayType, SqlType, StructType

__all__ = ["Columns", "has_arrow", "read"]

_AS_NUMBERS = {DATE: INTEGER, TIME: INTEGER, TIMESTAMP: BIGINT}


@lru_cache(1)
def has_arrow() -> bool:
    """Whether such rows can be read: Arrow is an extra."""
    return find_spec("pyarrow") is not None


def read(data: bytes, columns: Sequence[Column]) -> Columns:
    """The rows in one of Arrow's streams."""
    import pyarrow

    with pyarrow.ipc.open_stream(pyarrow.py_buffer(data)) as stream:
        return Columns([*stream], columns)


class Columns:
    """Record batches of one query: see :class:`ksqlpy.session.inbox.Some`."""

    def __init__(self, batches: Sequence[Any], columns: Sequence[Column]) -> None:
        self._batches = batches
        self._columns = columns

    def __len__(self) -> int:
        return sum(map(len, self._batches))

    def joined(self, others: Sequence[Columns]) -> Columns:
        """These rows and others of the query, one behind the other."""
        return Columns([b for c in (self, *others) for b in c.batches()], self._columns)

    def batches(self) -> Iterator[Any]:
        """The record batches."""
        return iter(self._batches)

    def rows(self) -> list[list[Any]]:
        """The rows, with values as the engine has them."""
        return [
            list(row)
            for batch in self._batches
            for row in zip(
                *(_values(v, c.type) for v, c in zip(batch.columns, self._columns, strict=True)), strict=True
            )
        ]


def _values(values: Any, type_: SqlType) -> list[Any]:
    match type_:
        case ArrayType(item):
            inner = iter(_values(values.flatten(), item))
            lengths = values.value_lengths().to_pylist()
            return [None if n is None else [next(inner) for _ in range(n)] for n in lengths]
        case StructType(fields):
            parts = [_values(part, t) for part, (_, t) in zip(values.flatten(), fields, strict=True)]
            there = values.is_valid().to_pylist()
            names = [n for n, _ in fields]
            return [
                dict(zip(names, row, strict=True)) if valid else None for valid, *row in zip(there, *parts, strict=True)
            ]
    if type_ == BYTES:
        return [None if v is None else base64.b64encode(v).decode() for v in values.to_pylist()]
    if type_ in _AS_NUMBERS:
        import pyarrow

        values = values.cast(pyarrow.int32() if _AS_NUMBERS[type_] == INTEGER else pyarrow.int64())
    found: list[Any] = values.to_pylist()
    return found
