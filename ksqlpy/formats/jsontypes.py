"""The type that JSON texts have in common, for columns that are inferred from records.

Whole numbers are BIGINT, other numbers DOUBLE, words BOOLEAN, texts STRING; an object is a STRUCT of all fields that
one of the texts has, with names in upper case, as the inference by a JSON Schema has them. Where kinds differ, or where
there are nulls only, it is STRING, as which JSON reads anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

from ksqlpy.formats.jsontree import Broken, Number, Pairs, tree
from ksqlpy.types import BIGINT, BOOLEAN, DOUBLE, STRING, ArrayType, SqlType, StructType

__all__ = ["trees", "type_of_texts", "type_of_trees"]

_DEPTH = 30
"""Levels of objects and arrays that become types; what lies deeper is STRING."""

_UNKNOWN = None
"""What nulls and empty arrays tell of a type."""


def type_of_texts(records: Iterable[bytes]) -> SqlType | None:
    """The type of those texts that are JSON; None where none is. Texts of null tell nothing."""
    return type_of_trees(trees(records))


def trees(records: Iterable[bytes]) -> list[Any]:
    """The trees (:func:`ksqlpy.formats.jsontree.tree`) of those texts that are JSON, without nulls."""
    return [t for r in records if (t := tree(r)) is not None and Broken.within(t) is None]


def type_of_trees(found: Iterable[Any]) -> SqlType | None:
    """The type of the trees, None for no trees."""
    kinds = (_kind(t, 0) for t in found)
    for first in kinds:
        return _type(reduce(_merged, kinds, first))
    return None


# A kind is what is known of a type: None for nothing, a scalar type, a list of the kind of the items, or a dict of the
# kinds of the fields.


def _kind(value: Any, depth: int) -> Any:
    if value is None:
        return _UNKNOWN
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, Number):
        return BIGINT if value.whole and -(2**63) <= int(value) < 2**63 else DOUBLE
    if isinstance(value, str) or depth == _DEPTH:
        return STRING
    if isinstance(value, Pairs):
        fields: dict[str, Any] = {}
        for name, inner in value:
            if name:
                upper, kind = name.upper(), _kind(inner, depth + 1)
                fields[upper] = _merged(fields[upper], kind) if upper in fields else kind
        return fields
    return [reduce(_merged, (_kind(v, depth + 1) for v in value), _UNKNOWN)]


def _merged(one: Any, other: Any) -> Any:
    if one is _UNKNOWN or other is _UNKNOWN or one == other:
        return other if one is _UNKNOWN else one
    if isinstance(one, dict) and isinstance(other, dict):
        return {n: _merged(one.get(n), other.get(n)) for n in (*one, *(n for n in other if n not in one))}
    if isinstance(one, list) and isinstance(other, list):
        return [_merged(one[0], other[0])]
    return DOUBLE if [one, other] in ([BIGINT, DOUBLE], [DOUBLE, BIGINT]) else STRING


def _type(kind: Any) -> SqlType:
    if isinstance(kind, dict) and kind:
        return StructType(tuple((n, _type(k)) for n, k in kind.items()))
    if isinstance(kind, list):
        return ArrayType(_type(kind[0]))
    return kind if isinstance(kind, SqlType) else STRING
