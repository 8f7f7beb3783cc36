"""Functions of arrays and maps.

Source of the semantics: ksqlDB's array and map functions.
"""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.functions.conditional import comparable
from ksqlpy.functions.registry import ANY_ARRAY, ArgTypes, Family, Scalar, Signature
from ksqlpy.functions.sparktext import bound
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
    is_numeric,
)

__all__ = ["COLLECTIONS"]

_PLAIN = (BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP)


def _first(types: ArgTypes) -> SqlType:
    return types[0]


def _item(types: ArgTypes) -> SqlType:
    t = types[0]
    assert isinstance(t, ArrayType)
    return t.item


def _keys(types: ArgTypes) -> SqlType:
    t = types[0]
    assert isinstance(t, MapType)
    return ArrayType(t.key)


def _values(types: ArgTypes) -> SqlType:
    t = types[0]
    assert isinstance(t, MapType)
    return ArrayType(t.value)


def _contains(a: Sequence[str], t: ArgTypes) -> str:
    return f"coalesce(exists({a[0]}, __item -> __item <=> ({a[1]})), false)"


def _join(a: Sequence[str], t: ArgTypes) -> str:
    separator = f"coalesce({a[1]}, '')" if len(a) > 1 else "','"
    return f"array_join({a[0]}, {separator}, 'null')"


def _slice(a: Sequence[str], t: ArgTypes) -> str:
    begin = f"coalesce({a[1]}, 1)"

    def body(x: str) -> str:
        end = f"coalesce({a[2]}, array_size({x}))"
        inside = f"{begin} >= 1 and {end} <= array_size({x}) and {end} >= {begin} - 1"
        return f"case when {inside} then slice({x}, {begin}, {end} - {begin} + 1) end"

    return bound(a[0], body)


_ORDERED_ITEMS = Family(
    "ARRAY", lambda t: isinstance(t, ArrayType) and (is_numeric(t.item) or (t.item in _PLAIN and t.item != BYTES))
)
_COMPARABLE_ITEMS = Family("ARRAY", lambda t: isinstance(t, ArrayType) and comparable(t))
_TEXT_ITEMS = Family(
    "ARRAY", lambda t: isinstance(t, ArrayType) and (is_numeric(t.item) or t.item in (BOOLEAN, STRING))
)
_TEXT_KEYS = Family("MAP", lambda t: isinstance(t, MapType) and t.key == STRING)


def _array(name: str, help: str, example: str, *signatures: Signature) -> Scalar:
    return Scalar(name, "ARRAY", help, example, signatures)


COLLECTIONS = (
    _array(
        "ARRAY_LENGTH",
        "How many elements the array has, nulls included.",
        "ARRAY_LENGTH(TAGS)",
        Signature((ANY_ARRAY,), INTEGER, lambda a, t: f"array_size({a[0]})"),
    ),
    _array(
        "ARRAY_CONTAINS",
        "Whether a value, which may be null, is in the array; false for a null array; not for nested or DECIMAL items.",
        "ARRAY_CONTAINS(TAGS, 'new')",
        *(Signature((ArrayType(item), item), BOOLEAN, _contains) for item in _PLAIN),
    ),
    _array(
        "ARRAY_MAX",
        "The greatest element; nulls do not count.",
        "ARRAY_MAX(PRICES)",
        Signature((_ORDERED_ITEMS,), _item, lambda a, t: f"array_max({a[0]})"),
    ),
    _array(
        "ARRAY_MIN",
        "The least element; nulls do not count.",
        "ARRAY_MIN(PRICES)",
        Signature((_ORDERED_ITEMS,), _item, lambda a, t: f"array_min({a[0]})"),
    ),
    _array(
        "ARRAY_DISTINCT",
        "The elements without repetitions, in the order in which they first occur.",
        "ARRAY_DISTINCT(TAGS)",
        Signature((_COMPARABLE_ITEMS,), _first, lambda a, t: f"array_distinct({a[0]})"),
    ),
    _array(
        "ARRAY_JOIN",
        "The elements as text with a separator (a comma if none is given) between them; a null reads null.",
        "ARRAY_JOIN(TAGS, '; ')",
        Signature((_TEXT_ITEMS,), STRING, _join),
        Signature((_TEXT_ITEMS, STRING), STRING, _join),
    ),
    _array(
        "SLICE",
        "The elements from one place to another, both included and counted from 1; a null place leaves that end open.",
        "SLICE(TAGS, 1, 3)",
        Signature((ANY_ARRAY, INTEGER, INTEGER), _first, _slice),
    ),
    Scalar(
        "MAP_KEYS",
        "MAP",
        "The keys of the map, in the order in which it holds them.",
        "MAP_KEYS(LABELS)",
        (Signature((_TEXT_KEYS,), _keys, lambda a, t: f"map_keys({a[0]})"),),
    ),
    Scalar(
        "MAP_VALUES",
        "MAP",
        "The values of the map, in the order in which it holds them.",
        "MAP_VALUES(LABELS)",
        (Signature((_TEXT_KEYS,), _values, lambda a, t: f"map_values({a[0]})"),),
    ),
)
