"""Rows of a result as Arrow's columns, and from there as data frames.

Most columns come as they are (:mod:`ksqlpy.reading.bulk`). Where they do not, they are made of the values that the
engine has, one column after the other.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import accumulate, chain
from typing import Any

from ksqlpy.analysis.constants import constant_of
from ksqlpy.arrowtypes import arrow_type
from ksqlpy.errors import EngineProblem, EnvironmentProblem
from ksqlpy.session.rows import Column
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

__all__ = ["reader", "table", "to_pandas", "to_polars"]

_ROWS = 65_536
"""Rows of a batch at most."""

_DAY = 86_400_000
"""Milliseconds."""

Rows = Sequence[Sequence[Any]]


def reader(columns: Sequence[Column], taken: Iterable[Any]) -> Any:
    """A ``pyarrow.RecordBatchReader``: a batch for the rows that come together, as they come.

    ``taken``: lists of rows, and record batches with these columns.
    Raises EnvironmentProblem ``missing-package`` without pyarrow; the reader raises EngineProblem ``query-failed`` for
    a value that the type of its column cannot hold, and what ``taken`` raises.
    """
    arrow = _package("pyarrow")
    schema = arrow.schema([(c.name, arrow_type(c.type, arrow)) for c in columns])
    return arrow.RecordBatchReader.from_batches(schema, _batches(columns, taken, schema, arrow))


def table(columns: Sequence[Column], taken: Iterable[Any]) -> Any:
    """All rows as a ``pyarrow.Table``. Raises as :func:`reader` and what it makes."""
    arrow = _package("pyarrow")
    schema = arrow.schema([(c.name, arrow_type(c.type, arrow)) for c in columns])
    return arrow.Table.from_batches(_batches(columns, taken, schema, arrow), schema)


def to_pandas(made: Any) -> Any:
    """A table as a ``pandas.DataFrame``. Integers and BOOLEANs with nulls have pandas' types that know null.

    DECIMAL, DATE, TIME and nested values are objects of Python. Raises EnvironmentProblem ``missing-package``.
    """
    pandas, arrow = _package("pandas"), _package("pyarrow")
    frame = made.to_pandas(date_as_object=True, maps_as_pydicts="strict")
    nullable = {arrow.int32(): "Int32", arrow.int64(): "Int64", arrow.bool_(): "boolean"}
    for place, name in enumerate(made.column_names):
        column = made.column(place)
        if column.null_count and column.type in nullable:
            # Not from the frame, where numbers have become DOUBLEs.
            frame[name] = pandas.array(column.to_pylist(), nullable[column.type])
    return frame


def to_polars(made: Any) -> Any:
    """A table as a ``polars.DataFrame``. Raises EnvironmentProblem ``missing-package``."""
    return _package("polars").from_arrow(made)


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as e:
        said = f"the rows of a result are no {_MADE[name]} without the package {name}"
        hint = f"pip install 'ksqlpy[{'arrow' if name == 'pyarrow' else name}]'"
        raise EnvironmentProblem("missing-package", said, hint=hint) from e


_MADE = {"pyarrow": "table of Arrow", "pandas": "DataFrame of pandas", "polars": "DataFrame of Polars"}

# ---------------------------------------------------------------- columns


def _batches(columns: Sequence[Column], taken: Iterable[Any], schema: Any, arrow: Any) -> Iterator[Any]:
    for rows in _in_size(taken):
        if isinstance(rows, arrow.RecordBatch):
            yield rows
            continue
        arrays = []
        for place, column in enumerate(columns):
            values = [row[place] for row in rows]
            try:
                arrays.append(_array(values, column.type, arrow))
            except (ValueError, TypeError, ArithmeticError) as e:  # pyarrow's errors are some of these
                said = f"a value of column {column.name} is no {column.type} of Arrow: {e}"
                raise EngineProblem("query-failed", said) from e
        yield arrow.RecordBatch.from_arrays(arrays, schema=schema)


def _in_size(taken: Iterable[Any]) -> Iterator[Any]:
    for rows in taken:
        if len(rows) <= _ROWS:
            if len(rows):
                yield rows
        else:
            yield from (rows[i : i + _ROWS] for i in range(0, len(rows), _ROWS))  # of a record batch a view


def _array(values: Sequence[Any], type_: SqlType, arrow: Any) -> Any:
    made = arrow_type(type_, arrow)
    if type_ in _READERS:
        return _READERS[type_](values, made, arrow)
    match type_:
        case ArrayType(item):
            inner = _array(list(chain.from_iterable(v for v in values if v is not None)), item, arrow)
            return arrow.ListArray.from_arrays(_offsets(values, arrow), inner, type=made)
        case MapType(key, item):
            maps = [v for v in values if v is not None]
            keys = [k for v in maps for k in v]
            if key != STRING:  # JSON has texts there
                keys = [_key(k, key) for k in keys]
            items = _array([x for v in maps for x in v.values()], item, arrow)
            return arrow.MapArray.from_arrays(_offsets(values, arrow), _array(keys, key, arrow), items, type=made)
        case StructType(fields) if fields:
            parts = [_array([None if v is None else v.get(n) for v in values], t, arrow) for n, t in fields]
            missing = arrow.array([v is None for v in values], arrow.bool_())
            return arrow.StructArray.from_arrays(parts, fields=list(made), mask=missing)
        case DecimalType():
            return _decimals(values, made, arrow)
    return arrow.array(values, made)


def _offsets(values: Sequence[Any], arrow: Any) -> Any:
    """Where the values of each list begin, and where the last one ends; null for a null."""
    ends = [0, *accumulate(0 if v is None else len(v) for v in values)]
    missing = [v is None for v in values]
    if not any(missing):
        return arrow.array(ends, arrow.int32())
    begins = [None if null else end for end, null in zip(ends, missing, strict=False)]
    return arrow.array([*begins, ends[-1]], arrow.int32())


def _key(text: Any, type_: SqlType) -> Any:
    if not isinstance(text, str):
        return text
    return text == "true" if type_ == BOOLEAN else int(text) if type_ in (INTEGER, BIGINT) else text


def _decimals(values: Sequence[Any], made: Any, arrow: Any) -> Any:
    try:
        return arrow.array(values, made)
    except (ValueError, TypeError):
        from decimal import Decimal

        return arrow.array([None if v is None else Decimal(v) for v in values], made)


def _doubles(values: Sequence[Any], made: Any, arrow: Any) -> Any:
    try:
        return arrow.array(values, made)
    except (ValueError, TypeError):  # NaN and Infinity are texts in JSON, and there are Decimals
        return arrow.array([None if v is None else float(v) for v in values], made)


def _bytes(values: Sequence[Any], made: Any, arrow: Any) -> Any:
    decode = base64.b64decode
    return arrow.array([None if v is None else decode(v) for v in values], made)


def _times(type_: SqlType) -> Callable[[Sequence[Any], Any, Any], Any]:
    """Of days or milliseconds, as the engine has them, or of the texts of the REST API."""

    def read(values: Sequence[Any], made: Any, arrow: Any) -> Any:
        if not isinstance(next((v for v in values if v is not None), None), str):
            if type_ == TIME:  # the end of the day is its begin, as it is in rows
                values = [None if v is None else v % _DAY for v in values]
            return arrow.array(values, made)
        if type_ != TIME:
            try:
                plain = arrow.array(values, arrow.string()).cast(made if type_ == DATE else arrow.timestamp("ms"))
                return plain.view(made)
            except ValueError:  # a year that has not four digits
                pass
        return arrow.array([None if v is None else _number(v, type_) for v in values], made)

    return read


def _number(text: str, type_: SqlType) -> int:
    found = constant_of(text, type_)
    if not isinstance(found, int):
        raise ValueError(f"{text!r} is no {type_}")
    return found


_READERS: dict[SqlType, Callable[[Sequence[Any], Any, Any], Any]] = {
    BYTES: _bytes,
    DATE: _times(DATE),
    DOUBLE: _doubles,
    TIME: _times(TIME),
    TIMESTAMP: _times(TIMESTAMP),
}
