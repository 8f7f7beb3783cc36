"""Types as a server writes them: ``DECIMAL(6, 2)``, ``MAP<STRING, ARRAY<INTEGER>>``, STRUCT<`X` DATE>."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from ksqlpy.errors import EngineProblem, cut, shown
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

__all__ = ["type_of"]

_SCALARS = {t.name: t for t in (BIGINT, BOOLEAN, BYTES, DATE, DOUBLE, INTEGER, STRING, TIME, TIMESTAMP)}
_TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)*)`|(\w+)|([<>(),]))")


@lru_cache(256)
def type_of(text: str) -> SqlType:
    """The type; raises EngineProblem ``bad-answer`` for a text that is none."""
    tokens = _tokens(text)
    try:
        found = _type(tokens)
    except (StopIteration, LookupError, ValueError) as e:
        raise _odd(text) from e
    if next(tokens, None) is not None:
        raise _odd(text)
    return found


def _odd(text: str) -> EngineProblem:
    hint = "use the ksqlpy of the server's version"
    return EngineProblem("bad-answer", f"the server names a type that is unknown: {shown(cut(text))}", hint=hint)


def _tokens(text: str) -> Iterator[str]:
    place = 0
    text = text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(text)
        quoted, word, mark = match.groups()
        yield quoted.replace("``", "`") if quoted is not None else word or mark
        place = match.end()


def _type(tokens: Iterator[str]) -> SqlType:
    name = next(tokens)
    match name:
        case "ARRAY":
            _take(tokens, "<")
            item = _type(tokens)
            _take(tokens, ">")
            return ArrayType(item)
        case "MAP":
            _take(tokens, "<")
            key = _type(tokens)
            _take(tokens, ",")
            value = _type(tokens)
            _take(tokens, ">")
            return MapType(key, value)
        case "STRUCT":
            _take(tokens, "<")
            return StructType(tuple(_fields(tokens)))
        case "DECIMAL":
            _take(tokens, "(")
            precision = int(next(tokens))
            _take(tokens, ",")
            scale = int(next(tokens))
            _take(tokens, ")")
            return DecimalType(precision, scale)
    return _SCALARS[name]


def _fields(tokens: Iterator[str]) -> Iterator[tuple[str, SqlType]]:
    name = next(tokens)
    while name != ">":
        yield name, _type(tokens)
        behind = next(tokens)
        name = next(tokens) if behind == "," else behind


def _take(tokens: Iterator[str], wanted: str) -> None:
    if (found := next(tokens)) != wanted:
        raise ValueError(found)
