"""Names of columns and fields that the languages of schemas do not take."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ksqlpy.catalog import Column
from ksqlpy.types import ArrayType, MapType, SqlType, StructType

__all__ = ["misnamed"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def misnamed(columns: Sequence[Column]) -> str | None:
    """The first name of a column or field that Avro and Protobuf do not take, or None."""
    return next((n for c in columns for n in (c.name, *_fields_in(c.type)) if not _NAME.match(n)), None)


def _fields_in(type_: SqlType) -> Iterator[str]:
    match type_:
        case ArrayType(item) | MapType(_, item):
            yield from _fields_in(item)
        case StructType(fields):
            for name, inner in fields:
                yield name
                yield from _fields_in(inner)
