"""Small tools for functions that write Spark SQL text from the texts of their arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ksqlpy.types import ArrayType, DecimalType, MapType, SqlType, StructType

__all__ = ["bound", "decimal", "exact", "in_order", "java", "quoted", "text_constant", "whole_constant"]

_SHORT = 60
_TEXT = re.compile(r"'((?:[^'\\]|''|\\['\\])*)'")
_ESCAPED = re.compile(r"''|\\(['\\])")
_WHOLE = re.compile(r"\(?\s*(-?)\s*([0-9]+)\s*\)?")


def bound(argument: str, body: Callable[[str], str]) -> str:
    """The text of ``body``, which names its parameter several times.

    A long argument is evaluated once and named by a lambda variable, so that nested calls do not grow without measure.
    A short one is repeated: Spark finds the repetition, and compiles what a lambda would make it interpret.
    """
    if len(argument) <= _SHORT:
        return body(f"({argument})")
    return f"element_at(transform(array({argument}), __value -> {body('__value')}), 1)"


def java(function: str, *arguments: str) -> str:
    """The text of a call of a function that is written in Java, such as ``Urls.Host`` (see ``Scalar.java``)."""
    fields = ", ".join(f"'{i}', {a}" for i, a in enumerate(arguments))
    return f'ksqlpy.`{{"call":"{function}"}}`(named_struct({fields}))'


def quoted(text: str) -> str:
    """A string as a Spark SQL literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def text_constant(argument: str) -> str | None:
    """The value of an argument that is a plain string literal, else None."""
    found = _TEXT.fullmatch(argument.strip())
    return None if found is None else _ESCAPED.sub(lambda m: m[1] or "'", found[1])


def whole_constant(argument: str) -> int | None:
    """The value of an argument that is a plain whole number, else None."""
    found = _WHOLE.fullmatch(argument.strip())
    return None if found is None else int(found[1] + found[2])


def decimal(t: DecimalType) -> str:
    """The name that Spark has for a DECIMAL."""
    return f"decimal({t.precision}, {t.scale})"


def exact(name: str, *numbers: str, objects: Sequence[str] = ()) -> str:
    """The call of one of our own functions in the JVM (``Exact.java``).

    ``numbers``: arguments of primitive types, times among them; ``objects``: the others, which come last, in a struct.
    Without it a null that CASE makes would come there as what was in its place in the row before.
    """
    fields = ", ".join(f"'{i}', {o}" for i, o in enumerate(objects))
    arguments = [*numbers, f"named_struct({fields})"] if objects else numbers
    return f'ksqlpy.`{{"exact":"{name}"}}`({", ".join(arguments)})'


def in_order(value: str, t: SqlType) -> str:
    """The value with the keys of all its maps in their order, so that equal ones have equal bytes."""
    if not _holds_map(t):
        return value
    match t:
        case ArrayType(item):
            return f"transform({value}, __i -> {in_order('__i', item)})"
        case MapType(_, item):
            sorted_map = (
                "map_from_arrays(array_sort(map_keys(__m)), transform(array_sort(map_keys(__m)), __k -> __m[__k]))"
            )
            values = f"transform_values(__m, (__k, __v) -> {in_order('__v', item)})"
            inner = (
                f"element_at(transform(array({values}), __m -> {sorted_map}), 1)" if _holds_map(item) else sorted_map
            )
            return f"element_at(transform(array({value}), __m -> {inner}), 1)"
        case StructType(fields):
            parts = (f"{quoted(n)}, {in_order(f'({value}).`{n.replace(chr(96), chr(96) * 2)}`', f)}" for n, f in fields)
            return f"CASE WHEN {value} IS NOT NULL THEN named_struct({', '.join(parts)}) END"
    raise TypeError(f"{t} holds no map")


def _holds_map(t: SqlType) -> bool:
    match t:
        case ArrayType(item):
            return _holds_map(item)
        case StructType(fields):
            return any(_holds_map(f) for _, f in fields)
    return isinstance(t, MapType)
