"""Functions that choose between their arguments.

Source of the semantics: ksqlDB's null functions and AS_VALUE.
"""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.functions.signatures import ANY, EVERY, ArgTypes, Scalar, Signature, same
from ksqlpy.functions.sparktext import comparable_form
from ksqlpy.types import ArrayType, MapType, SqlType, StructType

__all__ = ["CONDITIONAL"]


def _first(types: ArgTypes) -> SqlType:
    return types[0]


def comparable(t: SqlType) -> bool:
    """Whether Spark can compare two values of the type: no MAP is part of it."""
    if isinstance(t, ArrayType):
        return comparable(t.item)
    if isinstance(t, StructType):
        return all(comparable(inner) for _, inner in t.fields)
    return not isinstance(t, MapType)


def _nullif(a: Sequence[str], t: ArgTypes) -> str:
    if comparable(t[0]):
        return f"nullif({a[0]}, {a[1]})"
    equal = f"{comparable_form(a[0], t[0])} = {comparable_form(a[1], t[0])}"
    return f"case when not coalesce({equal}, false) then {a[0]} end"


CONDITIONAL = (
    Scalar(
        "COALESCE",
        "CONDITIONAL",
        "The first argument that is not null.",
        "COALESCE(NICKNAME, NAME, '?')",
        (
            Signature(
                (same(),),
                _first,
                lambda a, t: f"coalesce({', '.join(a)})",
                variadic=True,
                nulls=EVERY,
                names=("value",),
            ),
        ),
    ),
    Scalar(
        "IFNULL",
        "CONDITIONAL",
        "The first argument, or the second if the first is null.",
        "IFNULL(NAME, '?')",
        (
            Signature(
                (same(), same()),
                _first,
                lambda a, t: f"coalesce({a[0]}, {a[1]})",
                nulls=EVERY,
                names=("value", "otherwise"),
            ),
        ),
    ),
    Scalar(
        "NULLIF",
        "CONDITIONAL",
        "Null if both arguments are equal, else the first.",
        "NULLIF(NAME, '')",
        (
            Signature(
                (same(), same()),
                _first,
                _nullif,
                nulls=EVERY,
                names=("value", "unwanted"),
            ),
        ),
    ),
    Scalar(
        "AS_VALUE",
        "OTHER",
        "A copy of a key column as a column of the value; for select lists.",
        "AS_VALUE(ID)",
        (Signature((ANY,), _first, lambda a, t: a[0], names=("value",)),),
    ),
)
