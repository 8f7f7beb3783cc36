"""Small tools for functions that write Spark SQL text from the texts of their arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from ksqlpy.types import ArrayType, DecimalType, MapType, SqlType, StructType, holds_double, holds_map

__all__ = [
    "MOST",
    "bits",
    "bound",
    "comparable_form",
    "decimal",
    "exact",
    "field",
    "folded",
    "in_order",
    "java",
    "json_fields",
    "json_text",
    "key_text",
    "named",
    "negative",
    "null",
    "of_bits",
    "once",
    "plain_in_json",
    "quoted",
    "text_constant",
    "text_key",
    "tried",
    "whole_constant",
]

MOST = 1_000_000
"""Items of an array, or characters of a text, that a number in a record may ask for: more fit no record, and may not
fit into memory."""

_SHORT = 60
_LONG = 1000
_TRY = "ksqlpy_try("
_PLAIN = re.compile(r"[A-Za-z0-9_ .,:;+/=-]*")
"""Texts that mean nothing to whoever reads a text that they stand in, and may so be read by people."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.]+")
_TEXT = re.compile(rf"'({_PLAIN.pattern})'|ksqlpy_text\('([0-9a-f]*)'\)")
_WHOLE = re.compile(r"\(?\s*(-?)\s*([0-9]+)\s*\)?")


def bound(argument: str, body: Callable[[str], str]) -> str:
    """The text of ``body``, which names its parameter several times.

    A long argument is evaluated once and named by a lambda variable, so that nested calls do not grow without measure.
    A short one is repeated: Spark finds the repetition, and compiles what a lambda would make it interpret.
    """
    if len(argument.replace(_TRY, "")) <= _SHORT:
        return body(f"({argument})")
    return f"element_at(transform(array({argument}), __value -> {body('__value')}), 1)"


def once(arguments: Sequence[str], body: Callable[[Sequence[str]], str]) -> str:
    """The text of ``body`` over the arguments, in which a long one stands once.

    As :func:`bound`, for all arguments: in a body that names each of them twice, ten calls in each other would be 2¹⁰
    times as long as the innermost argument.
    """
    text = body(arguments)
    if all(len(a) <= _LONG or text.count(a) < 2 for a in arguments):
        return text
    named = {f"a{i}": a for i, a in enumerate(arguments) if len(a) > _LONG and text_constant(a) is None}
    fields = ", ".join(f"'{n}', {a}" for n, a in named.items())
    inside = [f"__args.a{i}" if f"a{i}" in named else a for i, a in enumerate(arguments)]
    return f"element_at(transform(array(named_struct({fields})), __args -> {body(inside)}), 1)"


def tried(text: str) -> str:
    """The text of what is null where computing the argument throws: no expression ends a query."""
    return f"{_TRY}{text})"


def java(function: str, *arguments: str) -> str:
    """The text of a call of a function that is written in Java, such as ``Urls.Host`` (see ``Scalar.java``)."""
    fields = ", ".join(f"'{i}', {a}" for i, a in enumerate(arguments))
    return f'ksqlpy.`{{"call":"{function}"}}`(named_struct({fields}))'


def quoted(text: str) -> str:
    """A string as a literal: in quotes, or by its bytes where it could mean something (``EncodedLiterals.java``)."""
    return f"'{text}'" if _PLAIN.fullmatch(text) else f"ksqlpy_text('{_digits(text)}')"


def named(name: str) -> str:
    """A name in backticks: of a column, or of a function what it is to do. Different names stay different.

    A name that could mean something is $ and its bytes.
    """
    return f"`{name}`" if _PLAIN_NAME.fullmatch(name) else f"`${_digits(name)}`"


def field(value: str, number: int) -> str:
    """The field of a struct with this number, from 0: its name is the user's, and stands in no text."""
    return f"ksqlpy_field({value}, {number})"


def folded(described: object, row: str) -> str:
    """The state of an aggregate in Python, and its value: an aggregate of the rows (``Folding.java``)."""
    return f"ksqlpy_folded('{_digits(json.dumps(described, separators=(',', ':')))}', {row})"


def null(described: object) -> str:
    """The null of a type that is described in Spark's JSON."""
    return f"ksqlpy_null('{_digits(json.dumps(described))}')"


def _digits(text: str) -> str:
    # A half of a surrogate pair is no character: a question mark, as Java writes it.
    return text.encode("utf-8", "replace").hex()


def text_constant(argument: str) -> str | None:
    """The value of an argument that is a plain string literal, else None."""
    found = _TEXT.fullmatch(argument.strip())
    return None if found is None else found[1] if found[2] is None else bytes.fromhex(found[2]).decode()


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


_ROUNDED = 34
"""Digits to which Spark's own negation and abs round a DECIMAL."""


def negative(value: str, t: SqlType, *, absolute: bool = False) -> str:
    """The text of the number with the other sign; ``absolute``: of the number without its sign."""
    if isinstance(t, DecimalType) and t.precision > _ROUNDED:
        return exact("decimal_abs" if absolute else "decimal_negate", objects=[value])
    return f"abs({value})" if absolute else f"(- {value})"


def text_key(value: str) -> str:
    """Bytes of a text that are in Java's order of texts, by UTF-16 units (``TextOrder.java``); null for null."""
    return exact("text_key", objects=[value])


def key_text(value: str) -> str:
    """The text of such bytes."""
    return exact("key_text", objects=[value])


_KEEP_NULLS = "map('ignoreNullFields', 'false')"
_MOST_PLACES = 6
"""Java writes a number with more of them with an exponent, if it is small."""


def plain_in_json(t: SqlType) -> bool:
    """Whether Spark's to_json writes all numbers of the type without an exponent, DOUBLE aside."""
    match t:
        case DecimalType(scale=scale):
            return scale <= _MOST_PLACES
        case ArrayType(item) | MapType(_, item):
            return plain_in_json(item)
        case StructType(fields):
            return all(plain_in_json(f) for _, f in fields)
    return True


def json_text(value: str, t: SqlType) -> str:
    """A value as to_json writes it, but with all digits of every DECIMAL; the text null if it is null."""
    if plain_in_json(t):
        # to_json takes no scalars: written as an array of one, without its brackets.
        listed = f"to_json(array({value}), {_KEEP_NULLS})"
        return bound(listed, lambda x: f"substring({x}, 2, length({x}) - 2)")
    match t:
        case ArrayType(item):
            items = f"transform({value}, __part -> {json_text('__part', item)})"
            written = f"concat('[', array_join({items}, ','), ']')"
        case MapType(_, item):
            key = "to_json(map(cast(__part.key as string), 0))"
            entry = f"concat(substring({key}, 2, length({key}) - 3), {json_text('__part.value', item)})"
            written = f"concat('{{', array_join(transform(map_entries({value}), __part -> {entry}), ','), '}}')"
        case StructType(fields):
            parts = [(n, json_text(field(value, i), f)) for i, (n, f) in enumerate(fields)]
            return f"CASE WHEN {value} IS NOT NULL THEN {json_fields(parts)} ELSE 'null' END"
        case _:
            written = exact("decimal_text", objects=[value])
    return f"coalesce({written}, 'null')"


def json_fields(parts: Sequence[tuple[str, str]]) -> str:
    """A JSON object of names and the texts of their values as JSON."""
    pieces = [f"{quoted(f'{json.dumps(n, ensure_ascii=False)}:')}, {part}" for n, part in parts]
    joined = ", ',', ".join(pieces)
    return f"concat('{{', {joined}, '}}')"


def in_order(value: str, t: SqlType) -> str:
    """The value with the keys of all its maps in their order, so that equal ones have equal bytes."""
    if not holds_map(t):
        return value
    match t:
        case ArrayType(item):
            return f"transform({value}, __i -> {in_order('__i', item)})"
        case MapType(_, item):
            sorted_map = (
                "map_from_arrays(array_sort(map_keys(__m)), transform(array_sort(map_keys(__m)), __k -> __m[__k]))"
            )
            values = f"transform_values(__m, (__k, __v) -> {in_order('__v', item)})"
            inner = f"element_at(transform(array({values}), __m -> {sorted_map}), 1)" if holds_map(item) else sorted_map
            return f"element_at(transform(array({value}), __m -> {inner}), 1)"
        case StructType(fields):
            parts = (f"{quoted(n)}, {in_order(field(value, i), f)}" for i, (n, f) in enumerate(fields))
            return f"CASE WHEN {value} IS NOT NULL THEN named_struct({', '.join(parts)}) END"
    raise TypeError(f"{t} holds no map")


def comparable_form(value: str, t: SqlType) -> str:
    """What Spark can compare in place of the value: maps are arrays of their entries, in the order of their keys."""
    if not holds_map(t):
        return value
    match t:
        case ArrayType(item):
            return f"transform({value}, __i -> {comparable_form('__i', item)})"
        case MapType(_, item):
            entry = f"named_struct('k', __e.key, 'v', {comparable_form('__e.value', item)})"
            return f"array_sort(transform(map_entries({value}), __e -> {entry}))"
        case StructType(fields):
            parts = (f"'{i}', {comparable_form(field(value, i), f)}" for i, (_, f) in enumerate(fields))
            return f"CASE WHEN {value} IS NOT NULL THEN named_struct({', '.join(parts)}) END"
    raise TypeError(f"{t} holds no map")


def bits(value: str, t: SqlType, *, signed: bool = True) -> str:
    """The value with the bits of each DOUBLE in its place, as Spark tells -0.0 from 0.0 (``DoubleBits.java``).

    ``signed``: else -0.0 has those of 0.0. Keys of a MAP are kept as they are.
    """
    return _each_double(value, t, "bits" if signed else "unsigned_bits")


def of_bits(value: str, t: SqlType) -> str:
    """The value of type ``t`` that such bits stand for."""
    return _each_double(value, t, "of_bits")


def _each_double(value: str, t: SqlType, function: str) -> str:
    if not holds_double(t):
        return value
    match t:
        case ArrayType(item):
            return f"transform({value}, __i -> {_each_double('__i', item, function)})"
        case StructType(fields):

            def struct(of: str) -> str:
                parts = (f"{quoted(n)}, {_each_double(field(of, i), f, function)}" for i, (n, f) in enumerate(fields))
                return f"CASE WHEN {of} IS NOT NULL THEN named_struct({', '.join(parts)}) END"

            return bound(value, struct)
        case MapType(_, item):
            return f"transform_values({value}, (__k, __v) -> {_each_double('__v', item, function)})"
    return exact(function, value)
