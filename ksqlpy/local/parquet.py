"""Parquet files: the columns that their schemas say, and their rows; needs pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from ksqlpy.errors import EnvironmentProblem
from ksqlpy.local.rowproblem import FileRowProblem
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

__all__ = ["NoType", "parquet_columns", "parquet_rows"]

_AT_ONCE = 4096
_MOST_DIGITS = 38

_SCALARS: Mapping[str, SqlType] = {
    "null": STRING,  # of a column without values
    "bool": BOOLEAN,
    **dict.fromkeys(("int8", "int16", "int32", "uint8", "uint16"), INTEGER),
    **dict.fromkeys(("int64", "uint32"), BIGINT),
    "uint64": DecimalType(20, 0),
    **dict.fromkeys(("halffloat", "float", "double"), DOUBLE),
    **dict.fromkeys(("string", "large_string", "string_view"), STRING),
    **dict.fromkeys(("binary", "large_binary", "binary_view"), BYTES),
    **dict.fromkeys(("date32[day]", "date64[ms]"), DATE),
}
"""By the names of Arrow's types."""


class NoType(ValueError):
    """A column of a type for which SQL has none: ``name`` and ``type``."""

    def __init__(self, name: str, type_: str) -> None:
        super().__init__(f"{name} {type_}")
        self.name, self.type = name, type_


def parquet_columns(file: Path) -> dict[str, SqlType]:
    """The columns of the file's schema, by their names there; raises NoType, and as :func:`parquet_rows`."""
    with _opened(file) as (arrow, opened):
        return {f.name: _sql_type(arrow, f.name, f.type) for f in opened.schema_arrow}


def parquet_rows(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Where each row stands, such as `` row 7``, and its values.

    Raises FileRowProblem ``not-parquet``, and EnvironmentProblem ``missing-package`` without pyarrow.
    """
    number = 0
    with _opened(file) as (arrow, opened):
        for batch in opened.iter_batches(_AT_ONCE):
            try:
                rows = _readable(arrow, batch).to_pylist()
            except OverflowError as e:
                said = f"{file}: behind row {number} is a date or time that lies outside of the years 1 to 9999"
                raise FileRowProblem("wrong-value", said) from e
            for row in rows:
                number += 1
                yield f": row {number}", row


@contextmanager
def _opened(file: Path) -> Iterator[tuple[Any, Any]]:
    try:
        parquet: Any = import_module("pyarrow.parquet")
        arrow: Any = import_module("pyarrow")
    except ImportError as e:
        raise EnvironmentProblem(
            "missing-package", f"reading {file} needs the package pyarrow", hint="pip install 'ksqlpy[parquet]'"
        ) from e
    try:
        with parquet.ParquetFile(file) as opened:
            yield arrow, opened
    except arrow.ArrowInvalid as e:
        raise FileRowProblem("not-parquet", f"{file}: this is no Parquet file: {e}") from e


# ---------------------------------------------------------------- types


def _sql_type(arrow: Any, name: str, type_: Any) -> SqlType:
    """The SQL type of a column of this name; raises NoType."""

    def of(inner: Any) -> SqlType:
        return _sql_type(arrow, name, inner)

    is_a = arrow.types
    if (found := _SCALARS.get(str(type_))) is not None:
        return found
    if is_a.is_timestamp(type_) or is_a.is_time(type_):
        return TIMESTAMP if is_a.is_timestamp(type_) else TIME
    if is_a.is_fixed_size_binary(type_):
        return BYTES
    if is_a.is_decimal(type_) and 0 <= type_.scale <= type_.precision <= _MOST_DIGITS:
        return DecimalType(type_.precision, type_.scale)
    if is_a.is_dictionary(type_):
        return of(type_.value_type)
    if is_a.is_map(type_) and not isinstance(key := of(type_.key_type), _KEYLESS) and key != BYTES:
        return MapType(STRING, of(type_.item_type))
    if _is_list(arrow, type_):
        return ArrayType(of(type_.value_type))
    if is_a.is_struct(type_) and type_.num_fields and len({f.name.upper() for f in type_}) == type_.num_fields:
        return StructType(tuple((f.name.upper(), _sql_type(arrow, f"{name}->{f.name}", f.type)) for f in type_))
    raise NoType(name, str(type_))


_KEYLESS = (ArrayType, MapType, StructType)


def _is_list(arrow: Any, type_: Any) -> bool:
    return bool(arrow.types.is_list(type_) or arrow.types.is_large_list(type_) or arrow.types.is_fixed_size_list(type_))


def _readable(arrow: Any, batch: Any) -> Any:
    """The batch with types whose values are Python's: microseconds for nanoseconds, which Python has not."""
    schema = arrow.schema([arrow.field(f.name, _of_python(arrow, f.type)) for f in batch.schema])
    if schema.types == batch.schema.types:
        return batch
    columns = [c if c.type == t else c.cast(t, safe=False) for c, t in zip(batch.columns, schema.types, strict=True)]
    return arrow.record_batch(columns, schema=schema)


def _of_python(arrow: Any, type_: Any) -> Any:
    is_a = arrow.types

    def of(inner: Any) -> Any:
        return _of_python(arrow, inner)

    if is_a.is_timestamp(type_) and type_.unit == "ns":
        return arrow.timestamp("us", type_.tz)
    if is_a.is_time64(type_) and type_.unit == "ns":
        return arrow.time64("us")
    if is_a.is_float16(type_):
        return arrow.float32()
    if is_a.is_dictionary(type_):
        return of(type_.value_type)
    if is_a.is_map(type_):
        return arrow.map_(of(type_.key_type), of(type_.item_type))
    if is_a.is_list(type_) or is_a.is_large_list(type_):
        make: Callable[[Any], Any] = arrow.large_list if is_a.is_large_list(type_) else arrow.list_
        return make(type_.value_field.with_type(of(type_.value_type)))
    if is_a.is_struct(type_):
        return arrow.struct([f.with_type(of(f.type)) for f in type_])
    return type_
