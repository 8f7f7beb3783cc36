"""The columns of the table that change events of Debezium in JSON describe, by a sample of them.

Where an event has its schema beside it, types are those of Kafka Connect's schema; else they are those of the values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ksqlpy.formats.jsontree import Pairs
from ksqlpy.formats.jsontypes import trees, type_of_trees
from ksqlpy.formats.subjects import in_upper_case
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
    MapType,
    SqlType,
    StructType,
)

__all__ = ["key_of_events", "row_of_events"]

_TYPES: Mapping[str, SqlType] = {
    "int8": INTEGER, "int16": INTEGER, "int32": INTEGER, "int64": BIGINT, "float": DOUBLE, "double": DOUBLE,
    "float32": DOUBLE, "float64": DOUBLE, "boolean": BOOLEAN, "string": STRING, "bytes": BYTES,
}  # fmt: skip
_NAMED: Mapping[tuple[str, str], SqlType] = {
    (kind, f"{package}.{name}"): type_
    for package in ("org.apache.kafka.connect.data", "io.debezium.time")
    for kind, name, type_ in (("int32", "Date", DATE), ("int32", "Time", TIME), ("int64", "Timestamp", TIMESTAMP))
}
"""Types by Connect's type and the name of its schema: days, milliseconds of the day, milliseconds since 1970.

Times in microseconds or nanoseconds stay numbers, a DECIMAL that Connect writes in base64 stays BYTES.
"""


def row_of_events(values: Sequence[bytes]) -> StructType | None:
    """The type of the rows of the table; None where no value is an envelope with a row."""
    found = trees(values)
    events = [e for t in found if isinstance(e := _payload(t), Pairs) and _get(e, "op") is not None]
    by_schema = _by_schema(found, "after")
    if by_schema is not None:
        return by_schema
    rows = [row for e in events for side in ("before", "after") if (row := _get(e, side)) is not None]
    type_ = type_of_trees(rows)
    return type_ if isinstance(type_, StructType) else None


def key_of_events(keys: Sequence[bytes]) -> StructType | None:
    """The type of the keys; None where they are no records."""
    found = trees(keys)
    by_schema = _by_schema(found, None)
    if by_schema is not None:
        return by_schema
    type_ = type_of_trees([_payload(t) for t in found])
    return type_ if isinstance(type_, StructType) else None


def _get(tree: Any, name: str) -> Any:
    return dict(tree).get(name) if isinstance(tree, Pairs) else None


def _payload(tree: Any) -> Any:
    """What stands beside a schema, or the whole."""
    return _get(tree, "payload") if isinstance(tree, Pairs) and {n for n, _ in tree} == {"schema", "payload"} else tree


def _by_schema(found: Sequence[Any], field: str | None) -> StructType | None:
    """The type by the last schema among the trees, of the whole or of a field of it."""
    for tree in reversed(found):
        schema = _get(tree, "schema") if _payload(tree) is not tree else None
        if field is not None:
            fields = _get(schema, "fields") or ()
            schema = next((f for f in fields if _get(f, "field") == field), None)
        type_ = _connect(schema)
        if isinstance(type_, StructType):
            upper = in_upper_case(type_)
            assert isinstance(upper, StructType)
            return upper
    return None


def _connect(schema: Any) -> SqlType | None:
    """The type of a schema of Kafka Connect in JSON; None for what is none."""
    kind, name = str(_get(schema, "type")), str(_get(schema, "name"))
    match kind:
        case "struct":
            fields = {str(_get(f, "field")): t for f in _get(schema, "fields") or () if (t := _connect(f)) is not None}
            return StructType(tuple(fields.items())) if fields else None
        case "array":
            item = _connect(_get(schema, "items"))
            return None if item is None else ArrayType(item)
        case "map":
            item = _connect(_get(schema, "values"))
            return None if item is None else MapType(STRING, item)
    return _NAMED.get((kind, name)) or _TYPES.get(kind)
