"""Typed expressions as Spark SQL text, with ksqlDB's meaning where Spark's differs.

The session runs without ANSI rules: a failing expression is NULL. Differences that are treated here: comparisons with
NULL are false; a NULL condition on the left of AND or OR makes NULL; NaN equals nothing; DOUBLE division by zero is
Infinity or NaN; text becomes a number only as a whole; an inexact DECIMAL division is NULL (ksqlDB, operators, CAST).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal

from ksqlpy.analysis import typed as t
from ksqlpy.formats import text
from ksqlpy.functions import Signature
from ksqlpy.functions.conditional import comparable
from ksqlpy.functions.sparktext import bound, exact
from ksqlpy.spark.lambdas import breaks_at
from ksqlpy.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
    widens_to,
)

__all__ = ["failure_text", "spark_text", "spark_type"]

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
    NULL: "void",
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
            case t.ColumnRef(name="__partition"):  # behind the number of the topic, in a union
                return f"({column('__partition')} & 65535)"
            case t.ColumnRef(name=name):
                return column(name)
            case t.Literal():
                return _literal(e)
            case t.FunctionCall():
                return _call(e, sql)
            case t.Lambda(parameters=parameters, body=body):
                names = parameters[0] if len(parameters) == 1 else f"({', '.join(parameters)})"
                return f"{names} -> {sql(body)}"
            case t.LambdaRef(name=name):
                return name
            case t.Cast(type=target, value=value):
                return cast_text(sql(value), value.type, target)
            case t.Arithmetic():
                return _arithmetic(e, sql(e.left), sql(e.right))
            case t.Negate(value=value):
                return f"(- {sql(value)})"
            case t.Compare():
                return _compare(e, sql(e.left), sql(e.right))
            case t.Logical():
                return _logical(e, sql)
            case t.Not(value=value):
                return f"(NOT {sql(value)})"
            case t.IsNull(value=value):
                return f"({sql(value)} IS NULL)"
            case t.Between(value=value, low=low, high=high):
                return f"coalesce({sql(value)} BETWEEN {sql(low)} AND {sql(high)}, false)"
            case t.InList(value=value, items=items) if not comparable(value.type):
                found = " OR ".join(_equal(sql(value), sql(i), value.type, 0) for i in items)
                return f"coalesce({found}, false)"
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
                at = f"cast(nullif({sql(index)}, 0) as int)" if isinstance(value.type, ArrayType) else sql(index)
                return f"try_element_at({sql(value)}, {at})"
            case t.ArrayOf(items=items):
                return f"array({', '.join(map(sql, items))})"
            case t.MapOf(entries=entries):
                return f"map({', '.join(f'{sql(k)}, {sql(v)}' for k, v in entries)})"
            case t.StructOf(fields=fields):
                return f"named_struct({', '.join(f'{text.string(n)}, {sql(v)}' for n, v in fields)})"
        raise TypeError(f"no Spark text for {e!r}")

    return sql(expr)


def failure_text(expr: t.Expr) -> str | None:
    """Spark text of whether a part of the expression failed: it is null, and nothing that it was made of is.

    None for an expression that cannot fail. Lambdas and the results of CASE, which are not always computed, are left
    out.
    """
    conditions = []
    for part in _always_computed(expr):
        needed = _failing(part)
        if needed is not None:
            there = [f"({spark_text(n)}) IS NOT NULL" for n in needed if not isinstance(n, t.Literal)]
            conditions.append(" AND ".join([f"({spark_text(part)}) IS NULL", *there]))
    return f"({') OR ('.join(conditions)})" if conditions else None


def _always_computed(e: t.Expr) -> Iterator[t.Expr]:
    if isinstance(e, t.Lambda | t.Case):
        return
    yield e
    for child in t.children(e):
        yield from _always_computed(child)


def _failing(e: t.Expr) -> list[t.Expr] | None:
    """What must not be null for the expression to fail with null; None if it does not fail."""
    match e:
        case t.Cast(type=target, value=value):
            reads = value.type == STRING and target not in (STRING, BOOLEAN)
            cuts = isinstance(target, DecimalType) and not widens_to(value.type, target)
            return [value] if (reads or cuts) and not isinstance(value, t.Literal) else None
        case t.Arithmetic(type=kind, op=op, left=left, right=right) if kind not in (DOUBLE, STRING):
            return [left, right] if op in "/%" or isinstance(kind, DecimalType) else None
        case t.FunctionCall(call=call, arguments=arguments):
            assert isinstance(call.signature, Signature)
            needed = [arguments[i] for i in call.signature.needs(len(arguments))]
            return [n for n in needed if not isinstance(n, t.Lambda)] if call.signature.fails else None
    return None


def _call(e: t.FunctionCall, sql: Callable[[t.Expr], str]) -> str:
    signature, types = e.call.signature, e.call.arguments
    assert isinstance(signature, Signature)
    arguments = [sql(a) for a in e.arguments]
    breaks = breaks_at(e, sql)
    if breaks is None:
        return signature.spark(arguments, types)

    def unbroken(first: str) -> str:
        return f"CASE WHEN NOT {breaks(first)} THEN {signature.spark([first, *arguments[1:]], types)} END"

    return bound(arguments[0], unbroken)


def _logical(e: t.Logical, sql: Callable[[t.Expr], str]) -> str:
    operands = _operands(e, e.op)
    if all(map(_never_null, operands[:-1])):
        return f"({f' {e.op} '.join(map(sql, operands))})"
    # A NULL on the left is an error to ksqlDB, whatever stands on the right; an error is NULL.
    whens = []
    for operand in operands[:-1]:
        text_ = sql(operand)
        if not _never_null(operand):
            whens.append(f"WHEN {text_} IS NULL THEN cast(null as boolean)")
        whens.append(f"WHEN NOT {text_} THEN false" if e.op == "AND" else f"WHEN {text_} THEN true")
    return f"CASE {' '.join(whens)} ELSE {sql(operands[-1])} END"


def _operands(e: t.Expr, op: str) -> list[t.Expr]:
    """The operands of a chain of ANDs, or of ORs, from left to right."""
    if isinstance(e, t.Logical) and e.op == op:
        return [*_operands(e.left, op), *_operands(e.right, op)]
    return [e]


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


def _equal(a: str, b: str, kind: SqlType, depth: int) -> str:
    """Whether two values are equal, null if one is null. Spark compares no maps, so these are taken apart."""
    if comparable(kind):
        return f"({a} = {b})"
    x, i = f"__x{depth}", f"__i{depth}"
    if isinstance(kind, StructType):
        fields = [
            f"({_equal(f'{a}.{text.name(n)}', f'{b}.{text.name(n)}', f, depth)} <=> true"
            f" OR {a}.{text.name(n)} IS NULL AND {b}.{text.name(n)} IS NULL)"
            for n, f in kind.fields
        ]
        return f"CASE WHEN {a} IS NOT NULL AND {b} IS NOT NULL THEN {' AND '.join(fields)} END"
    if isinstance(kind, ArrayType):
        there = f"get({b}, {i})"
        same = f"({_equal(x, there, kind.item, depth + 1)} <=> true OR {x} IS NULL AND {there} IS NULL)"
        each = f"forall(transform({a}, ({x}, {i}) -> {same}), {x} -> {x})"
        return f"(array_size({a}) = array_size({b}) AND {each})"
    assert isinstance(kind, MapType)
    there = f"element_at({b}, {x}.key)"
    same = (
        f"map_contains_key({b}, {x}.key)"
        f" AND ({_equal(f'{x}.value', there, kind.value, depth + 1)} <=> true OR {x}.value IS NULL AND {there} IS NULL)"
    )
    return f"(cardinality({a}) = cardinality({b}) AND forall(map_entries({a}), {x} -> {same}))"


def _compare(e: t.Compare, a: str, b: str) -> str:
    if not comparable(e.left.type):
        equal = _equal(a, b, e.left.type, 0)
        if e.op in ("=", "<>"):
            return f"coalesce({equal if e.op == '=' else f'NOT {equal}'}, false)"
        same = f"({equal} <=> true OR ({a} IS NULL AND {b} IS NULL))"
        return same if e.op == "IS NOT DISTINCT FROM" else f"(NOT {same})"
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
    if isinstance(e.pattern, t.Literal) and isinstance(e.pattern.value, str):
        pattern = text.string(_like_pattern(e.pattern.value, e.escape))
    elif e.escape is not None:
        return f"coalesce({value} LIKE {pattern} ESCAPE {text.string(e.escape)}, false)"
    else:
        pattern = f"replace({pattern}, '\\\\', '\\\\\\\\')"
    return f"coalesce({value} LIKE {pattern}, false)"


def _like_pattern(pattern: str, escape: str | None) -> str:
    """A LIKE pattern with Spark's own escape character, which may stand before %, _ and itself only."""
    out, characters = [], iter(pattern)
    for c in characters:
        escaped = c == escape
        if escaped:
            c = next(characters, "")
        out.append(f"\\{c}" if c == "\\" or (escaped and c in ("%", "_")) else c)
    return "".join(out)


# ---------------------------------------------------------------- CAST


def cast_text(value: str, source: SqlType, target: SqlType) -> str:
    """The text of a legal CAST."""
    if source == target:
        return value
    kind = spark_type(target)
    if target == STRING:
        return _to_string(value, source)
    if source == STRING:
        return _from_string(value, target)
    if isinstance(target, ArrayType) and isinstance(source, ArrayType):
        return f"transform({value}, x -> {cast_text('x', source.item, target.item)})"
    if isinstance(target, MapType) and isinstance(source, MapType):
        values = f"transform_values({value}, (k, x) -> {cast_text('x', source.value, target.value)})"
        if source.key == target.key:
            return values
        key = cast_text("k", source.key, target.key)
        # Spark has no null keys: it would stop the query.
        bad = f"exists(map_keys({value}), k -> {key} IS NULL)"
        return f"CASE WHEN NOT {bad} THEN transform_keys({values}, (k, x) -> {key}) END"
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


def _from_string(value: str, target: SqlType) -> str:
    if target == BOOLEAN:
        return f"(lower(trim({value})) IN ('t', 'tr', 'tru', 'true', 'y', 'ye', 'yes'))"
    if target == BYTES:
        return f"try_to_binary({value}, 'base64')"
    if isinstance(target, DecimalType):
        return exact("cast_decimal", objects=[value, f"cast(null as {spark_type(target)})"])
    return exact(f"cast_{target.base.lower()}", objects=[value])


def _to_string(value: str, source: SqlType) -> str:
    match source:
        case DecimalType(scale=scale) if scale > 6:  # Spark would write 0E-7
            return exact("decimal_text", objects=[value])
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
    return f"cast({value} as string)"
