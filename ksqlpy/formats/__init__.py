"""How records are read and written, by format, as Spark SQL text.

Reading gives ``struct<row, error>`` and is done by the readers in ``ksqlpy.spark.jvm`` (ksqlDB's rules are looser than
Spark's own, and a record that cannot be read must say why). Writing gives BINARY and is native Spark.
Source of the rules: ksqlDB, serialization formats.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ksqlpy.catalog import Column, Source, type_to_json
from ksqlpy.formats import text
from ksqlpy.functions.sparktext import bound, json_fields, json_text, plain_in_json
from ksqlpy.types import BYTES, DATE, DOUBLE, TIMESTAMP, ArrayType, DecimalType, MapType, Scalar, SqlType, StructType

__all__ = ["Part", "Written", "json_object", "key_part", "read", "value_part", "write"]


@dataclass(frozen=True)
class Part:
    """The key or the value of a source's records.

    Its columns, its format, whether a single column stands bare, and the delimiter of format DELIMITED.
    """

    columns: tuple[Column, ...]
    format: str
    bare: bool
    delimiter: str = ","

    @property
    def present(self) -> bool:
        """Whether there is anything to read or write."""
        return bool(self.columns) and self.format != "NONE"


def key_part(source: Source) -> Part:
    """The key: bare with one column, a record with several."""
    return Part(source.keys, source.key_format, len(source.keys) == 1, source.key_delimiter)


def value_part(source: Source) -> Part:
    """The value: a record, unless the source says otherwise."""
    return Part(source.values, source.value_format, not source.wrapped, source.value_delimiter)


def read(part: Part, data: str) -> str:
    """Spark SQL text that reads bytes into ``struct<row, error>``; ``row`` is the value itself where it stands bare."""
    if part.bare:
        kind = type_to_json(part.columns[0].type)
    else:
        kind = {"kind": "STRUCT", "fields": [[c.name, type_to_json(c.type)] for c in part.columns]}
    described = {"read": part.format, "bare": part.bare, "type": kind}
    if part.format == "DELIMITED":
        described["delimiter"] = part.delimiter
    spec = json.dumps(described, separators=(",", ":"))
    return f"ksqlpy.{text.name(spec)}({data})"


@dataclass(frozen=True)
class Written:
    """A column to write: its name, its type, and the Spark SQL text of its value."""

    name: str
    type: SqlType
    value: str


def write(part: Part, columns: Sequence[Written]) -> str:
    """Spark SQL text that gives the bytes of the columns, which are those of ``part`` in its order."""
    if not part.present:
        return "cast(null as binary)"
    return _WRITERS[part.format](part, columns)


def _write_kafka(part: Part, columns: Sequence[Written]) -> str:
    column = columns[0]
    if column.type == BYTES:
        return column.value
    if column.type == DOUBLE:
        bits = f"java_method('java.lang.Double', 'doubleToLongBits', {column.value})"
        return f"case when {column.value} is not null then cast(cast({bits} as bigint) as binary) end"
    return f"cast({column.value} as binary)"  # whole numbers come out big-endian, as Kafka's serializers write them


def _write_json(part: Part, columns: Sequence[Written]) -> str:
    if not part.bare:
        return f"cast({json_object(columns)} as binary)"
    column = columns[0]
    written = json_text(_json_value(column.value, column.type), column.type)
    return f"case when {column.value} is not null then cast({written} as binary) end"


def _write_delimited(part: Part, columns: Sequence[Written]) -> str:
    fields = [_delimited(_plain_text(c), part.delimiter, first=i == 0) for i, c in enumerate(columns)]
    line = f"cast(concat_ws({text.string(part.delimiter)}, {', '.join(fields)}) as binary)"
    return f"case when {columns[0].value} is not null then {line} end" if part.bare else line


def _plain_text(column: Written) -> str:
    """The value as the text of a field, null if it is null."""
    match column.type:
        case Scalar("STRING"):
            return column.value
        case Scalar("BYTES"):
            return f"base64({column.value})"
        case DecimalType():
            return f"try_cast({column.value} as string)"  # a plain cast writes small numbers with an exponent
        case _:
            return f"cast({_json_value(column.value, column.type)} as string)"


def _delimited(field: str, delimiter: str, *, first: bool) -> str:
    """A field, in quotes where Apache commons-csv writes them (its version 1.4, QuoteMode.MINIMAL)."""
    begin = "^[^0-9A-Za-z]" if first else "^[\\x00-#]"
    pattern, between = text.string(f'{begin}|[\\r\\n"]|[\\x00- ]\\z'), text.string(delimiter)
    empty = "'\"\"'" if first else "''"  # else a line of one empty text would be an empty line

    def written(value: str) -> str:
        return (
            f"case when {value} is null then '' when {value} = '' then {empty} when {value} rlike {pattern}"
            f" or contains({value}, {between}) then concat('\"', replace({value}, '\"', '\"\"'), '\"') else {value} end"
        )

    return bound(field, written)


_KEEP_NULLS = "map('ignoreNullFields', 'false')"

_WRITERS: dict[str, Callable[[Part, Sequence[Written]], str]] = {
    "KAFKA": _write_kafka,
    "JSON": _write_json,
    "DELIMITED": _write_delimited,
}


def json_object(columns: Sequence[Written]) -> str:
    """Spark SQL text of the JSON object with all columns, nulls written out."""
    if not all(plain_in_json(c.type) for c in columns):
        return json_fields([(c.name, json_text(_json_value(c.value, c.type), c.type)) for c in columns])
    fields = ", ".join(f"{text.string(c.name)}, {_json_value(c.value, c.type)}" for c in columns)
    return f"to_json(named_struct({fields}), {_KEEP_NULLS})"


def _json_value(value: str, t: SqlType) -> str:
    """The value as Spark's to_json writes it right: DATE as days, TIMESTAMP as ms, also inside of other types."""
    if not _needs_change(t):
        return value
    match t:
        case Scalar("DATE"):
            return f"unix_date({value})"
        case Scalar("TIMESTAMP"):
            return f"unix_millis({value})"
        case ArrayType(item):
            return f"transform({value}, x -> {_json_value('x', item)})"
        case MapType(_, item):
            return f"transform_values({value}, (k, x) -> {_json_value('x', item)})"
        case StructType(fields):
            inner = ", ".join(
                f"{text.string(n)}, {_json_value(text.field(value, i), f)}" for i, (n, f) in enumerate(fields)
            )
            return f"case when {value} is not null then named_struct({inner}) end"
    raise TypeError(f"not a type: {t!r}")


def _needs_change(t: SqlType) -> bool:
    if isinstance(t, ArrayType):
        return _needs_change(t.item)
    if isinstance(t, MapType):
        return _needs_change(t.value)
    if isinstance(t, StructType):
        return any(_needs_change(f) for _, f in t.fields)
    return t in (DATE, TIMESTAMP)
