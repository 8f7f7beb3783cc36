"""Typed expressions as Spark SQL text, with ksqlDB's meaning where Spark's differs.

The session runs without ANSI rules: a failing expression is NULL. Differences that are treated here: comparisons with
NULL are false; a NULL condition on the left of AND or OR makes NULL; NaN equals nothing; DOUBLE division by zero is
Infinity or NaN; text becomes a number only as a whole; an inexact DECIMAL division is NULL (ksqlDB, operators, CAST).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from ksqlpy.analysis import typed as t
from ksqlpy.formats import text
from ksqlpy.functions import Signature
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
    is_numeric,
)

__all__ = ["spark_text", "spark_type"]

_SCALARS: Mapping[SqlType, str] = {
    BOOLEAN: "boolean",
    INTEGER: "int",
    BIGINT: "bigint",
    DOUBLE: "double",
    STRING: "string",
    BYTES: "binary",
    DATE: "date",
    TIME: "int",
    TIMESTAMP: "timestamp",
}


def spark_type(kind: SqlType) -> str:
    """The Spark type that holds values of a SQL type; TIME is held as milliseconds of the day."""
    match kind:
        case DecimalType(precision, scale):
            return f"decimal({precision},{scale})"
        case ArrayType(item):
            return f"array<{spark_type(item)}>"
        case MapType(key, value):
            return f"map<{spark_type(key)}, {spark_type(value)}>"
        case StructType(fields):
            return f"struct<{', '.join(f'{text.name(n)}: {spark_type(f)}' for n, f in fields)}>"
    return _SCALARS[kind]


def spark_text(expr: t.Expr, *, column: Callable[[str], str] = text.name) -> str:
    """The expression as Spark SQL text; ``column`` gives the text of a column by its internal name."""

    def sql(e: t.Expr) -> str:
        match e:
            case t.ColumnRef(name=name):
                return column(name)
            case t.Literal():
                return _literal(e)
            case t.FunctionCall(call=call, arguments=arguments):
                assert isinstance(call.signature, Signature)
                return call.signature.spark([sql(a) for a in arguments], call.arguments)
            case t.Cast(type=target, value=value):
                return cast_text(sql(value), value.type, target)
            case t.Arithmetic():
                return _arithmetic(e, sql(e.left), sql(e.right))
            case t.Negate(value=value):
                return f"(- {sql(value)})"
            case t.Compare():
                return _compare(e, sql(e.left), sql(e.right))
            case t.Logical(op=op, left=left, right=right):
                plain = f"({sql(left)} {op} {sql(right)})"
                # A NULL on the left is an error to ksqlDB, whatever stands on the right; an error is NULL.
                return plain if _never_null(left) else f"CASE WHEN {sql(left)} IS NOT NULL THEN {plain} END"
            case t.Not(value=value):
                return f"(NOT {sql(value)})"
            case t.IsNull(value=value):
                return f"({sql(value)} IS NULL)"
            case t.Between(value=value, low=low, high=high):
                return f"coalesce({sql(value)} BETWEEN {sql(low)} AND {sql(high)}, false)"
            case t.InList(value=value, items=items):
                return f"coalesce({sql(value)} IN ({', '.join(map(sql, items))}), false)"
            case t.Like():
                return _like(e, sql(e.value), sql(e.pattern))
            case t.Case(whens=whens, default=default):
                branches = " ".join(f"WHEN {sql(c)} THEN {sql(r)}" for c, r in whens)
                return f"CASE {branches} ELSE {sql(default)} END"
            case t.FieldRef(value=value, name=name):
                return f"{sql(value)}.{text.name(name)}"
            case t.Index(value=value, index=index):
                # element_at is from 1 and from the end; 0 would be an error.
                at = f"nullif({sql(index)}, 0)" if isinstance(value.type, ArrayType) else sql(index)
                return f"try_element_at({sql(value)}, {at})"
            case t.ArrayOf(items=items):
                return f"array({', '.join(map(sql, items))})"
            case t.MapOf(entries=entries):
                return f"map({', '.join(f'{sql(k)}, {sql(v)}' for k, v in entries)})"
            case t.StructOf(fields=fields):
                return f"named_struct({', '.join(f'{text.string(n)}, {sql(v)}' for n, v in fields)})"
        raise TypeError(f"no Spark text for {e!r}")

    return sql(expr)


def _never_null(e: t.Expr) -> bool:
    """Whether a condition is true or false for every row."""
    match e:
        case t.Compare() | t.IsNull() | t.Between() | t.InList() | t.Like():
            return True
        case t.Logical(left=left, right=right):
            return _never_null(left) and _never_null(right)
        case t.Not(value=value):
            return _never_null(value)
    return isinstance(e, t.Literal) and e.value is not None


def _literal(e: t.Literal) -> str:
    value = e.value
    if value is None:
        return f"cast(null as {spark_type(e.type)})"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return text.string(value)
    if isinstance(value, float):
        return f"cast('{value!r}' as double)"
    if isinstance(value, Decimal):
        return f"cast('{value:f}' as {spark_type(e.type)})"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if e.type == INTEGER:
        return str(value) if value >= 0 else f"({value})"
    return f"cast({value} as {spark_type(e.type)})" if value > -(2**63) else f"cast('{value}' as bigint)"


def _arithmetic(e: t.Arithmetic, a: str, b: str) -> str:
    kind = spark_type(e.type)
    if e.type == STRING:
        return f"concat({a}, {b})"  # a null operand gives null; ksqlDB would write the text null
    if e.op == "/":
        if e.type in (INTEGER, BIGINT):
            return f"cast({a} div {b} as {kind})"
        if e.type == DOUBLE:
            if isinstance(e.right, t.Literal) and e.right.value:
                return f"({a} / {b})"
            at_zero = (
                f"CASE WHEN isnan({a}) OR {a} = 0 THEN double('NaN') WHEN {a} > 0 THEN double('Infinity')"
                f" WHEN {a} < 0 THEN double('-Infinity') END"
            )
            return f"CASE WHEN {b} = 0 THEN {at_zero} ELSE {a} / {b} END"
        quotient = f"cast({a} / {b} as {kind})"
        return f"CASE WHEN {quotient} * {b} = {a} THEN {quotient} END"
    if e.op == "%" and e.type == DOUBLE:
        return f"CASE WHEN {b} = 0 AND {a} IS NOT NULL THEN double('NaN') ELSE {a} % {b} END"
    return f"cast({a} {e.op} {b} as {kind})" if isinstance(e.type, DecimalType) else f"({a} {e.op} {b})"


def _compare(e: t.Compare, a: str, b: str) -> str:
    if e.op == "IS NOT DISTINCT FROM":
        return f"({a} <=> {b})"
    if e.op == "IS DISTINCT FROM":
        return f"(NOT ({a} <=> {b}))"
    plain = f"{a} {e.op} {b}"
    if e.left.type == DOUBLE:
        nan = [f"isnan({x})" for x, side in ((a, e.left), (b, e.right)) if not isinstance(side, t.Literal)]
        if nan and e.op == "<>":
            plain = f"({plain} OR {' OR '.join(nan)}) AND {a} IS NOT NULL AND {b} IS NOT NULL"
        elif nan:
            plain = f"{plain} AND NOT ({' OR '.join(nan)})"
    return f"coalesce({plain}, false)"


def _like(e: t.Like, value: str, pattern: str) -> str:
    # Spark escapes with a backslash unless told otherwise; ksqlDB has no escape character by default.
    if e.escape is not None:
        return f"coalesce({value} LIKE {pattern} ESCAPE {text.string(e.escape)}, false)"
    if isinstance(e.pattern, t.Literal) and isinstance(e.pattern.value, str):
        pattern = text.string(e.pattern.value.replace("\\", "\\\\"))
    else:
        pattern = f"replace({pattern}, '\\\\', '\\\\\\\\')"
    return f"coalesce({value} LIKE {pattern}, false)"


# ---------------------------------------------------------------- CAST


def cast_text(value: str, source: SqlType, target: SqlType) -> str:
    """The text of a legal CAST."""
    if source == target:
        return value
    kind = spark_type(target)
    if target == STRING:
        return _to_string(value, source)
    if source == STRING:
        return _from_string(value, target, kind)
    if isinstance(target, ArrayType) and isinstance(source, ArrayType):
        return f"transform({value}, x -> {cast_text('x', source.item, target.item)})"
    if isinstance(target, MapType) and isinstance(source, MapType):
        keys = f"transform_keys({value}, (k, x) -> {cast_text('k', source.key, target.key)})"
        return f"transform_values({keys}, (k, x) -> {cast_text('x', source.value, target.value)})"
    if isinstance(target, StructType) and isinstance(source, StructType):
        parts = []
        for n, wanted in target.fields:
            has = source.field(n)
            inner = (
                f"cast(null as {spark_type(wanted)})"
                if has is None
                else cast_text(f"{value}.{text.name(n)}", has, wanted)
            )
            parts.append(f"{text.string(n)}, {inner}")
        return f"CASE WHEN {value} IS NOT NULL THEN named_struct({', '.join(parts)}) END"
    if source == TIMESTAMP and target == TIME:
        return f"cast(pmod(unix_millis({value}), 86400000) as int)"
    if source == TIMESTAMP and target == BIGINT:  # implied only: a pseudo column beside ISO text
        return f"unix_millis({value})"
    return f"cast({value} as {kind})"


def _from_string(value: str, target: SqlType, kind: str) -> str:
    trimmed = f"trim({value})"
    if target == BOOLEAN:
        return f"(lower({trimmed}) IN ('t', 'tr', 'tru', 'true', 'y', 'ye', 'yes'))"
    if target in (INTEGER, BIGINT):  # Spark would cut '3.7'
        return f"CASE WHEN {trimmed} RLIKE '^[+-]?[0-9]+$' THEN cast({trimmed} as {kind}) END"
    if is_numeric(target):
        return f"cast({trimmed} as {kind})"
    if target == BYTES:
        return f"unbase64({value})"
    if target == TIME:
        return f"cast(unix_millis(cast(concat('1970-01-01T', {trimmed}) as timestamp)) as int)"
    return f"cast({trimmed} as {kind})"


def _to_string(value: str, source: SqlType) -> str:
    match source:
        case DecimalType():
            return f"cast({value} as string)"
        case ArrayType(item):
            items = f"transform({value}, x -> coalesce({_to_string('x', item)}, 'null'))"
            return f"concat('[', array_join({items}, ', '), ']')"
        case MapType(key, item):
            entry = f"concat({_to_string('e.key', key)}, '=', coalesce({_to_string('e.value', item)}, 'null'))"
            return f"concat('{{', array_join(transform(map_entries({value}), e -> {entry}), ', '), '}}')"
        case StructType(fields):
            parts = [
                f"concat({text.string(n + '=')}, {_to_string(f'{value}.{text.name(n)}', f)})" for n, f in fields
            ]  # a null field makes its concat null, and concat_ws leaves it out
            return (
                f"CASE WHEN {value} IS NOT NULL THEN concat('Struct{{', concat_ws(',', {', '.join(parts)}), '}}') END"
            )
    if source == TIMESTAMP:
        return f"date_format({value}, \"yyyy-MM-dd'T'HH:mm:ss.SSS\")"
    if source == TIME:
        at = f"timestamp_millis({value})"
        return f"date_format({at}, CASE WHEN {value} % 1000 = 0 THEN 'HH:mm:ss' ELSE 'HH:mm:ss.SSS' END)"
    if source == STRING:
        return value
    if source == DATE:
        return f"cast({value} as string)"
    return f"cast({value} as string)"
