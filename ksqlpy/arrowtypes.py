"""The types that columns have in Apache Arrow, for files and for programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

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

__all__ = ["arrow_type"]

_TYPES: Mapping[SqlType, Callable[[Any], Any]] = {
    BOOLEAN: lambda arrow: arrow.bool_(),
    INTEGER: lambda arrow: arrow.int32(),
    BIGINT: lambda arrow: arrow.int64(),
    DOUBLE: lambda arrow: arrow.float64(),
    STRING: lambda arrow: arrow.string(),
    BYTES: lambda arrow: arrow.binary(),
    DATE: lambda arrow: arrow.date32(),
    TIME: lambda arrow: arrow.time32("ms"),
    TIMESTAMP: lambda arrow: arrow.timestamp("ms", tz="UTC"),
}


def arrow_type(type_: SqlType, arrow: Any) -> Any:
    """The type of Arrow; ``arrow``: the package pyarrow, which only those import who need it.

    BOOLEAN is bool, INTEGER int32, BIGINT int64, DOUBLE float64, STRING string, DECIMAL decimal128, BYTES binary, DATE
    date32, TIME time32 in ms, TIMESTAMP timestamp in ms with the zone UTC; ARRAY list, MAP map, STRUCT struct.
    """
    match type_:
        case DecimalType(precision, scale):
            return arrow.decimal128(precision, scale)
        case ArrayType(item):
            return arrow.list_(arrow_type(item, arrow))
        case MapType(key, item):
            return arrow.map_(arrow_type(key, arrow), arrow_type(item, arrow))
        case StructType(fields):
            return arrow.struct([(n, arrow_type(t, arrow)) for n, t in fields])
    return _TYPES[type_](arrow)
