"""Rows of a result as a Parquet or an Arrow file, with the types of their columns; needs pyarrow."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from importlib import import_module
from typing import IO, Any

from ksqlpy.arrowtypes import arrow_type
from ksqlpy.catalog import Column
from ksqlpy.errors import EngineProblem, EnvironmentProblem
from ksqlpy.formats.java import decimal_of
from ksqlpy.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    INTEGER,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)

__all__ = ["COLUMNAR", "ColumnarFile"]

_FEW = 500
"""Rows that are Python values at a time."""
_ROWS = 65_536
_BYTES = 32_000_000
"""Rows, and bytes of them, after which a row group (of Arrow: a batch) is written."""


def _parquet(arrow: Any, file: IO[bytes], schema: Any) -> Any:
    return import_module("pyarrow.parquet").ParquetWriter(file, schema)


def _arrow(arrow: Any, file: IO[bytes], schema: Any) -> Any:
    return arrow.ipc.new_file(file, schema)


COLUMNAR: Mapping[str, Callable[[Any, IO[bytes], Any], Any]] = {".parquet": _parquet, ".arrow": _arrow}
"""What writes tables of a schema to an open file, by how the name of the file ends."""


class ColumnarFile:
    """Writes rows to an open file of one of the forms of :data:`COLUMNAR`; :meth:`end` writes what is left.

    Columns have the types of :func:`ksqlpy.arrowtypes.arrow_type`. Raises EnvironmentProblem ``missing-package``
    without pyarrow, and EngineProblem ``query-failed`` for columns that the form cannot hold.
    """

    def __init__(self, file: IO[bytes], form: str, columns: Sequence[Column]) -> None:
        try:
            self._arrow: Any = import_module("pyarrow")
        except ImportError as e:
            raise EnvironmentProblem(
                "missing-package",
                f"writing {form} files needs the package pyarrow",
                hint="pip install 'ksqlpy[parquet]'",
            ) from e
        self._columns = columns
        self._values = [_value(c.type) for c in columns]
        self._schema = self._arrow.schema([(c.name, arrow_type(c.type, self._arrow)) for c in columns])
        try:
            self._writer = COLUMNAR[form](self._arrow, file, self._schema)
        except NotImplementedError as e:  # of Parquet: a STRUCT without fields
            raise EngineProblem("query-failed", f"{form} cannot hold the columns: {e}") from e
        self._few: list[Sequence[Any]] = []
        self._batches: list[Any] = []
        self._rows = self._bytes = 0

    def row(self, row: Sequence[Any]) -> None:
        """Takes a row, as :func:`ksqlpy.local.query.ask` gives it.

        Raises EngineProblem ``query-failed`` for a value that the type of its column cannot hold.
        """
        self._few.append(row)
        if len(self._few) == _FEW:
            self._batch()
            if self._rows >= _ROWS or self._bytes >= _BYTES:
                self._write()

    def end(self) -> None:
        """Writes the rows that are left, and the end of the file, which stays open. Raises as :meth:`row`."""
        self._batch()
        self._write()
        self._writer.close()

    def abandon(self) -> None:
        """Ends without what is left: else pyarrow would end the file when nobody has it any more."""
        with contextlib.suppress(OSError, ValueError):
            self._writer.close()

    def _batch(self) -> None:
        arrays = []
        for i, (column, value) in enumerate(zip(self._columns, self._values, strict=True)):
            try:
                given = [None if row[i] is None else value(row[i]) for row in self._few]
                arrays.append(self._arrow.array(given, self._schema.field(i).type))
            except (ValueError, TypeError, ArithmeticError) as e:  # pyarrow's errors are some of these
                said = f"a value of column {column.name} cannot be written as {column.type}: {e}"
                raise EngineProblem("query-failed", said) from e
        self._few = []
        batch = self._arrow.record_batch(arrays, schema=self._schema)
        self._batches.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes

    def _write(self) -> None:
        table = self._arrow.Table.from_batches(self._batches, schema=self._schema).combine_chunks()
        if table.num_rows:
            self._writer.write_table(table)
        self._batches, self._rows, self._bytes = [], 0, 0


def _value(type_: SqlType) -> Callable[[Any], Any]:
    """What makes a value of a row's JSON, not None, one that pyarrow takes for the type: days and ms are numbers."""
    match type_:
        case DecimalType():
            return lambda v: decimal_of(v if isinstance(v, Decimal) else Decimal(v), type_)
        case ArrayType(item):
            of_item = _maybe(_value(item))
            return lambda v: [of_item(x) for x in v]
        case MapType(key, item):
            of_key, of_value = _key(key), _maybe(_value(item))
            return lambda v: [(of_key(k), of_value(x)) for k, x in v.items()]
        case StructType(fields):
            made = [(n, _maybe(_value(t))) for n, t in fields]
            return lambda v: {n: of(v.get(n)) for n, of in made}
    return float if type_ == DOUBLE else base64.b64decode if type_ == BYTES else _same


def _maybe(value: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda v: None if v is None else value(v)


def _key(type_: SqlType) -> Callable[[Any], Any]:
    """The same for the key of a map, which is a text in JSON."""
    if type_ == BOOLEAN:
        return lambda v: v == "true"
    if type_ in (INTEGER, BIGINT):
        return int
    return _value(type_)


def _same(value: Any) -> Any:
    return value
