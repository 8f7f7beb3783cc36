"""What each format can carry: in keys or values, which types, how many columns, wrapped or bare.

Source of the rules: ksqlDB, serialization formats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from sqlglot import exp

from ksqlpy.analysis.scope import Text
from ksqlpy.catalog import Column, Source
from ksqlpy.types import (
    BIGINT,
    BYTES,
    DOUBLE,
    INTEGER,
    STRING,
    ArrayType,
    MapType,
    SqlType,
    StructType,
)

__all__ = ["DELIMITERS", "FORMATS", "UNAVAILABLE", "Format", "check_formats", "holds_map", "is_wrapped"]


@dataclass(frozen=True)
class Format:
    """A format's limits.

    ``types``: the types that it carries, None for all; ``nested``: also ARRAY, MAP and STRUCT; ``most``: columns that
    it carries at most; ``wraps``: the values of WRAP_SINGLE_VALUE that it knows; ``delimited``: whether it has a
    delimiter.
    """

    name: str
    types: frozenset[SqlType] | None = None
    nested: bool = True
    most: int | None = None
    wraps: frozenset[bool] = frozenset({True, False})
    delimited: bool = False

    def carries(self, type_: SqlType) -> bool:
        """Whether a column may have the type; of what it is made is not looked at."""
        if isinstance(type_, ArrayType | MapType | StructType):
            return self.nested
        return self.types is None or type_ in self.types


_BARE = frozenset({False})

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        f.name: f
        for f in (
            Format("JSON"),
            Format("DELIMITED", nested=False, wraps=_BARE, delimited=True),
            Format("KAFKA", frozenset({INTEGER, BIGINT, DOUBLE, STRING, BYTES}), nested=False, most=1, wraps=_BARE),
            Format("NONE", most=0, wraps=frozenset()),
        )
    }
)
"""The formats by name; each may be the format of keys and of values."""

UNAVAILABLE: Mapping[str, str] = MappingProxyType(
    {
        "AVRO": "it needs a schema registry",
        "PROTOBUF": "it needs a schema registry",
        "JSON_SR": "it needs a schema registry",
        "PROTOBUF_NOSR": "Protocol Buffers cannot be read or written",
    }
)
"""Formats of the language that this server cannot serve, and why."""

DELIMITERS: Mapping[str, str] = MappingProxyType({"SPACE": " ", "TAB": "\t"})
"""Delimiters that have a name."""


def is_wrapped(format_: str, given: bool | None, default: str, columns: int) -> bool:
    """Whether a value is written as a record, not as its single column alone.

    ``given``: WRAP_SINGLE_VALUE; ``default``: ``ksql.persistence.wrap.single.values``, empty for the format's own;
    ``columns``: of the value.
    """
    if format_ == "KAFKA":
        return False
    if FORMATS[format_].wraps == _BARE or columns != 1:
        return True  # a text of one column, where there is nothing to wrap
    if given is not None:
        return given
    return default != "false"


def check_formats(source: Source, text: Text, node: exp.Expr, named: Mapping[str, exp.Expr] | None = None) -> None:
    """Refuses columns that their format cannot carry; raises AnalysisProblem ``bad-format``.

    ``named``: where the properties stand; else ``node`` is the place of a refusal.
    """
    places = named or {}
    both = places.get("FORMAT", node)
    _check("key", source.keys, source.key_format, text, places.get("KEY_FORMAT", both))
    _check("value", source.values, source.value_format, text, places.get("VALUE_FORMAT", both))


def _check(part: str, columns: Sequence[Column], name: str, text: Text, node: exp.Expr) -> None:
    format_ = FORMATS[name]
    if format_.most is not None and len(columns) > format_.most:
        if format_.most == 0:
            what = f"{part} format {name} cannot carry the {part} column {columns[0].name}"
        else:
            what = f"format {name} carries one {part} column, there are {len(columns)}"
        hint = f"{part.upper()}_FORMAT = 'JSON' carries several" if format_.most else None
        text.refuse("bad-format", what, node, hint=hint)
    for c in columns:
        if part == "key" and holds_map(c.type):
            text.refuse("bad-format", f"a MAP cannot be in a key: column {c.name} {c.type}", node)
        if not format_.carries(c.type):
            text.refuse("bad-format", f"format {name} cannot carry the {part} column {c.name} {c.type}", node)
        if _odd_map(c.type):
            text.refuse("bad-format", f"format {name} carries maps with STRING keys only: column {c.name}", node)


def holds_map(type_: SqlType) -> bool:
    """Whether values of the type are or contain a MAP, so that they are no keys."""
    if isinstance(type_, ArrayType):
        return holds_map(type_.item)
    if isinstance(type_, StructType):
        return any(holds_map(f) for _, f in type_.fields)
    return isinstance(type_, MapType)


def _odd_map(type_: SqlType) -> bool:
    if isinstance(type_, ArrayType):
        return _odd_map(type_.item)
    if isinstance(type_, StructType):
        return any(_odd_map(f) for _, f in type_.fields)
    return isinstance(type_, MapType) and (type_.key != STRING or _odd_map(type_.value))
