"""The table functions: one row in, several out. Source of the semantics: ksqlDB's table functions."""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.functions.signatures import ANY_ARRAY, ArgTypes, Signature, TableFunction
from ksqlpy.functions.sparktext import bound
from ksqlpy.types import ArrayType, SqlType

__all__ = ["TABLES"]

_MOST_CUBED = 20  # ksqlDB: a million rows from one are enough


def _item(types: ArgTypes) -> SqlType:
    array = types[0]
    assert isinstance(array, ArrayType)
    return array.item


def _same(types: ArgTypes) -> SqlType:
    return types[0]


def _explode(a: Sequence[str], t: ArgTypes) -> str:
    return a[0]


def _cube(a: Sequence[str], t: ArgTypes) -> str:
    """Each number from 0 says by its bits which values stay; the last value that is not null has the lowest bit."""

    def body(array: str) -> str:
        left = f"size(filter(slice({array}, __at + 2, size({array})), __y -> __y IS NOT NULL))"
        stays = f"(shiftright(__bits, {left}) & 1) = 1"
        kept = f"transform({array}, (__x, __at) -> CASE WHEN __x IS NOT NULL AND {stays} THEN __x END)"
        values = f"size(filter({array}, __y -> __y IS NOT NULL))"
        numbers = f"sequence(0, shiftleft(1, {values}) - 1)"
        return f"CASE WHEN size({array}) BETWEEN 0 AND {_MOST_CUBED} THEN transform({numbers}, __bits -> {kept}) END"

    return bound(a[0], body)


TABLES = (
    TableFunction(
        "EXPLODE",
        "TABLE",
        "One row for each item of the array; no row of an empty array or null.",
        "EXPLODE(TAGS)",
        (Signature((ANY_ARRAY,), _item, _explode),),
    ),
    TableFunction(
        "CUBE_EXPLODE",
        "TABLE",
        "One row for each choice of items, the others null: 2^n rows, n at most 20.",
        "CUBE_EXPLODE(ARRAY[CITY, TYPE])",
        (Signature((ANY_ARRAY,), _same, _cube),),
    ),
)
