"""Typed expressions as Spark SQL text, with ksqlDB's meaning where Spark's differs.

The session runs without ANSI rules: a failing expression is NULL, and what it is a part of (see :mod:`.failing`).
Where Spark throws all the same, ``ksqlpy_try`` makes NULL of it, around each call and not around the whole: a part that
stands twice Spark computes ahead of the whole.
Differences that are treated here: comparisons with NULL are false; a NULL condition on the left of AND or OR makes
NULL, in CASE too; NaN equals nothing; DOUBLE division by zero is Infinity or NaN; text becomes a number only as a
whole; DECIMALs are not rounded, but NULL (ksqlDB, operators, CAST).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.coercion import MAX_PRECISION, decimal_digits
from ksqlpy.errors import AnalysisProblem
from ksqlpy.formats import text
from ksqlpy.functions import Signature
from ksqlpy.functions.conditional import comparable
from ksqlpy.functions.python import in_definitions
from ksqlpy.functions.sparktext import bound, exact, java, negative, null, once, text_key, tried
from ksqlpy.spark.expression_failures import catches, failure, never_null, unless_failed
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
    is_numeric,
)

__all__ = ["failure_text", "has_caught", "null_text", "size", "spark_json", "spark_text", "spark_type", "sure"]

_NAMES: Mapping[str, str] = {"int": "integer", "bigint": "long"}
"""Types that Spark's JSON calls otherwise than its SQL."""

_MOST_TEXT = 1_000_000
"""Characters of a text that Spark parses in some seconds."""

_ISO = text.string("yyyy-MM-dd'T'HH:mm:ss.SSS")
_SIMPLE_LIKE = re.compile("%?[^%_]*%?|[^%_]*%[^%_]*", re.DOTALL)

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
    """The Spark type that holds values of a SQL type, which has no STRUCT; TIME is held as milliseconds of the day."""
    match kind:
        case DecimalType(precision, scale):
            return f"decimal({precision},{scale})"
        case ArrayType(item):
            return f"array<{spark_type(item)}>"
        case MapType(key, value):
            return f"map<{spark_type(key)}, {spark_type(value)}>"
    return _SCALARS[kind]


def spark_json(kind: SqlType) -> object:
    """The Spark type that holds values of a SQL type, as Spark describes it in JSON."""
    match kind:
        case ArrayType(item):
            return {"type": "array", "elementType": spark_json(item), "containsNull": True}
        case MapType(key, value):
            both = {"keyType": spark_json(key), "valueType": spark_json(value)}
            return {"type": "map", **both, "valueContainsNull": True}
        case StructType(fields):
            described = [{"name": n, "type": spark_json(f), "nullable": True, "metadata": {}} for n, f in fields]
            return {"type": "struct", "fields": described}
    found = spark_type(kind)
    return _NAMES.get(found, found)


def null_text(kind: SqlType) -> str:
    """The null of a type."""
    return null(spark_json(kind)) if _has_names(kind) else f"cast(null as {spark_type(kind)})"


def _has_names(kind: SqlType) -> bool:
    if isinstance(kind, ArrayType):
        return _has_names(kind.item)
    if isinstance(kind, MapType):
        return _has_names(kind.key) or _has_names(kind.value)
    return isinstance(kind, StructType)


PARTITION = t.SYSTEM["ROWPARTITION"][0]


def spark_text(expr: t.Expr, *, column: Callable[[str], str] = text.name) -> str:
    """The expression as Spark SQL text; ``column`` gives the text of a column by its internal name.

    Raises AnalysisProblem ``expression-too-large``.
    """
    return _texts(column)(expr)


def size(expr: t.Expr) -> int:
    """Characters of the expression's Spark text, without those of its literals; raises as :func:`spark_text`."""
    made = spark_text(expr)
    return len(made) - _in_words(expr, made)


def _in_words(expr: t.Expr, made: str) -> int:
    """Characters of the literals in the expression's text, and of the sources of its functions in Python."""
    return sum(len(_literal(e)) for e in t.walk(expr) if isinstance(e, t.Literal)) + in_definitions(made)


def _texts(column: Callable[[str], str] = text.name) -> Callable[[t.Expr], str]:
    """What gives the texts of expressions and their parts; it makes that of each part once."""
    known: dict[int, tuple[t.Expr, str]] = {}  # by id, which is another's as soon as nothing holds the expression

    def sql(e: t.Expr) -> str:
        if id(e) not in known:
            made = made_of(e)
            # A literal is one word, however long it is; whether it may be so long is for Kafka to say.
            if len(made) > _MOST_TEXT and len(made) - _in_words(e, made) > _MOST_TEXT:
                raise AnalysisProblem(
                    "expression-too-large",
                    "an expression is too large for Spark",
                    hint="compute parts of it in a stream of their own, and go on from its columns",
                )
            known[id(e)] = (e, made)
        return known[id(e)][1]

    def made_of(e: t.Expr) -> str:
        match e:
            case t.ColumnRef(name=name):
                # The number of the topic in a union stands before it.
                return f"({column(name)} & 65535)" if name == PARTITION else column(name)
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
                cast = once([sql(value)], lambda a: cast_text(a[0], value.type, target))
                return cast if is_numeric(value.type) or value.type == target else tried(cast)
            case t.Arithmetic():
                return once([sql(e.left), sql(e.right)], lambda a: _arithmetic(e, a[0], a[1]))
            case t.Negate(value=value):
                return negative(sql(value), value.type)
            case t.Compare():
                return unless_failed(_compared(e, sql), (e.left, e.right), sql)
            case t.Logical():
                return _logical(e, sql)
            case t.Not(value=value):
                return f"(NOT {sql(value)})"
            case t.IsNull(value=value):
                return unless_failed(f"({sql(value)} IS NULL)", (value,), sql)
            case t.Between(value=value, low=low, high=high):
                v, least, most = _ordered(sql, value, low, high)
                between = f"coalesce({v} BETWEEN {least} AND {most}, false)"
                return unless_failed(between, (value, low, high), sql)
            case t.InList(value=value, items=items):
                return unless_failed(_in_list(e, sql), (value, *items), sql)
            case t.Like():
                return unless_failed(_like(e, sql(e.value), sql(e.pattern)), (e.value, e.pattern), sql)
            case t.Case():
                return _case(e, sql)
            case t.FieldRef(value=value, name=name):
                return _field(sql(value), value.type, name)
            case t.Index(value=value, index=index):
                # element_at is from 1 and from the end; 0 would be an error.
                at = f"cast(nullif({sql(index)}, 0) as int)" if isinstance(value.type, ArrayType) else sql(index)
                return f"try_element_at({sql(value)}, {at})"
            case t.ArrayOf(items=items):
                return f"array({', '.join(map(sql, items))})"
            case t.MapOf(entries=entries):
                return _map([(sql(k), sql(v)) for k, v in entries], e)
            case t.StructOf(fields=fields):
                return f"named_struct({', '.join(f'{text.string(n)}, {sql(v)}' for n, v in fields)})"
        raise TypeError(f"no Spark text for {e!r}")

    return sql


def failure_text(expr: t.Expr) -> str | None:
    """Spark text of whether a part of the expression failed, see :func:`.failing.failure`."""
    return failure(expr, _texts(), caught=True)


def has_caught(expr: t.Expr) -> bool:
    """Whether parts of it may fail that are a null to the whole, so that the whole need not be null."""
    sql = _texts()
    return failure(expr, sql, caught=True) != failure(expr, sql)


def sure(condition: t.Expr) -> bool:
    """Whether a condition is true or false for every row, and no part of it can fail."""
    return never_null(condition, spark_text)


def _call(e: t.FunctionCall, sql: Callable[[t.Expr], str]) -> str:
    signature, types = e.call.signature, e.call.arguments
    assert isinstance(signature, Signature)
    breaks = breaks_at(e, sql)
    lambdas = {i: sql(a) for i, a in enumerate(e.arguments) if isinstance(a, t.Lambda)}
    values = [i for i in range(len(e.arguments)) if i not in lambdas]

    def text_of(given: Sequence[str]) -> str:
        said = {**lambdas, **dict(zip(values, given, strict=True))}
        arguments = [said[i] for i in range(len(said))]
        if breaks is None:
            return signature.spark(arguments, types)

        def unbroken(first: str) -> str:
            return f"CASE WHEN NOT {breaks(first)} THEN {signature.spark([first, *arguments[1:]], types)} END"

        return bound(arguments[0], unbroken)

    called = once([sql(e.arguments[i]) for i in values], text_of)
    # Java sees to its exceptions itself, and these families only choose. What a failed call of Python is says ON_ERROR.
    own = called.startswith('ksqlpy.`{"call":') or e.call.function.definition is not None
    if not own and e.call.function.category not in ("CONDITIONAL", "OTHER"):
        called = tried(called)
    if breaks is not None:
        return called
    # What needs an argument is null with it; of the others a failure must not be passed over that is not caught.
    needed = signature.needs(len(e.arguments))
    passed_over = [a for i, a in enumerate(e.arguments) if i not in needed and not catches(e, a)]
    return unless_failed(called, passed_over, sql)


def _case(e: t.Case, sql: Callable[[t.Expr], str]) -> str:
    branches = []
    for condition, result in e.whens:
        if not never_null(condition, sql):  # an error to ksqlDB, and no reason to look at the next one
            branches.append(f"WHEN ({sql(condition)}) IS NULL THEN {null_text(e.type)}")
        branches.append(f"WHEN {sql(condition)} THEN {sql(result)}")
    return f"CASE {' '.join(branches)} ELSE {sql(e.default)} END"


def _in_list(e: t.InList, sql: Callable[[t.Expr], str]) -> str:
    texts, kind = [sql(e.value), *map(sql, e.items)], e.value.type
    if comparable(kind):
        return f"coalesce({texts[0]} IN ({', '.join(texts[1:])}), false)"
    return once(texts, lambda a: f"coalesce({' OR '.join(_equal(a[0], i, kind, 0) for i in a[1:])}, false)")


def _logical(e: t.Logical, sql: Callable[[t.Expr], str]) -> str:
    operands = _operands(e, e.op)
    if all(never_null(o, sql) for o in operands[:-1]):
        return f"({f' {e.op} '.join(map(sql, operands))})"
    sure = [never_null(o, sql) for o in operands]
    # A NULL on the left is an error to ksqlDB, whatever stands on the right; an error is NULL.

    def text_of(given: Sequence[str]) -> str:
        whens = []
        for operand, never in zip(given[:-1], sure, strict=False):
            if not never:
                whens.append(f"WHEN {operand} IS NULL THEN cast(null as boolean)")
            whens.append(f"WHEN NOT {operand} THEN false" if e.op == "AND" else f"WHEN {operand} THEN true")
        return f"CASE {' '.join(whens)} ELSE {given[-1]} END"

    return once([sql(o) for o in operands], text_of)


def _operands(e: t.Expr, op: str) -> list[t.Expr]:
    """The operands of a chain of ANDs, or of ORs, from left to right."""
    if isinstance(e, t.Logical) and e.op == op:
        return [*_operands(e.left, op), *_operands(e.right, op)]
    return [e]


def _literal(e: t.Literal) -> str:
    value = e.value
    if value is None:
        return null_text(e.type)
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


def _map(entries: list[tuple[str, str]], e: t.MapOf) -> str:
    """Spark has no null keys; a null text is the key ``null``, as in ksqlDB, and no other type has one."""
    fixed = [isinstance(k, t.Literal) and k.value is not None for k, _ in e.entries]
    assert isinstance(e.type, MapType)
    if e.type.key == STRING:
        keys = [k if known else f"coalesce({k}, 'null')" for (k, _), known in zip(entries, fixed, strict=True)]
        return f"map({', '.join(f'{k}, {v}' for k, (_, v) in zip(keys, entries, strict=True))})"
    if all(fixed):
        return f"map({', '.join(f'{k}, {v}' for k, v in entries)})"
    made = ", ".join(f"named_struct('key', {k}, 'value', {v})" for k, v in entries)
    return f"map_from_entries(filter(array({made}), __entry -> __entry.key IS NOT NULL))"


def _arithmetic(e: t.Arithmetic, a: str, b: str) -> str:
    kind = spark_type(e.type)
    if e.type == STRING:
        return f"ksqlpy_bounded(concat({a}, {b}))"  # a null operand gives null; ksqlDB would write the text null
    if isinstance(e.type, DecimalType):
        return _decimal_arithmetic(e, a, b)
    if e.op == "/":
        if e.type in (INTEGER, BIGINT):
            return f"cast({a} div {b} as {kind})"
        if isinstance(e.right, t.Literal) and e.right.value:
            return f"({a} / {b})"
        at_zero = (
            f"CASE WHEN isnan({a}) OR {a} = 0 THEN double('NaN') WHEN {a} > 0 THEN double('Infinity')"
            f" WHEN {a} < 0 THEN double('-Infinity') END"
        )
        return f"CASE WHEN {b} = 0 THEN {at_zero} ELSE {a} / {b} END"
    if e.op == "%" and e.type == DOUBLE:
        return f"CASE WHEN {b} = 0 AND {a} IS NOT NULL THEN double('NaN') ELSE {a} % {b} END"
    return f"({a} {e.op} {b})"


_OPERATIONS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod"}


def _decimal_arithmetic(e: t.Arithmetic, a: str, b: str) -> str:
    left, right = e.left.type, e.right.type
    assert isinstance(left, DecimalType) and isinstance(right, DecimalType)
    precision, _ = decimal_digits(e.op, left, right)
    if e.op == "/" or precision > MAX_PRECISION:  # Spark would round
        return exact(f"decimal_{_OPERATIONS[e.op]}", objects=[a, b, null_text(e.type)])
    return f"cast({a} {e.op} {b} as {spark_type(e.type)})"


def _equal(a: str, b: str, kind: SqlType, depth: int) -> str:
    """Whether two values are equal, null if one is null. Spark compares no maps, so these are taken apart."""
    if comparable(kind):
        return f"({a} = {b})"
    x, i = f"__x{depth}", f"__i{depth}"
    if isinstance(kind, StructType):
        fields = []
        for number, (_, of) in enumerate(kind.fields):
            one, other = text.field(a, number), text.field(b, number)
            fields.append(f"({_equal(one, other, of, depth)} <=> true OR {one} IS NULL AND {other} IS NULL)")
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


_BEYOND = "\ue000"
"""From this character on, Spark's order of texts, by UTF-8 bytes, is not Java's."""


def _ordered(sql: Callable[[t.Expr], str], value: t.Expr, *bounds: t.Expr) -> list[str]:
    """The texts of a value and its bounds as they are compared: STRINGs by UTF-16 units, as in Java."""
    sides = (value, *bounds)
    plain = [isinstance(b, t.Literal) and all(c < _BEYOND for c in str(b.value)) for b in sides]
    if value.type != STRING or plain[0] or all(plain[1:]):
        return [sql(s) for s in sides]
    return [text_key(sql(s)) for s in sides]


def _compared(e: t.Compare, sql: Callable[[t.Expr], str]) -> str:
    sides = _ordered(sql, e.left, e.right) if e.op in ("<", "<=", ">", ">=") else [sql(e.left), sql(e.right)]
    return once(sides, lambda a: _compare(e, a[0], a[1]))


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
    constant = e.pattern.value if isinstance(e.pattern, t.Literal) else None
    if e.escape is None and isinstance(constant, str) and _SIMPLE_LIKE.fullmatch(constant):
        # Spark compares beginning, end or middle; it escapes with a backslash.
        escaped = constant.replace("\\", "\\\\")
        return f"coalesce({value} LIKE {text.string(escaped)}, false)"
    return f"coalesce({java('Texts.Like', value, pattern, text.string(e.escape or ''))}, false)"


# ---------------------------------------------------------------- CAST


def cast_text(value: str, source: SqlType, target: SqlType) -> str:
    """The text of a legal CAST."""
    if source == target:
        return value
    if source == NULL:
        return null_text(target)
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
            inner = null_text(wanted) if has is None else cast_text(_field(value, source, n), has, wanted)
            parts.append(f"{text.string(n)}, {inner}")
        return f"CASE WHEN {value} IS NOT NULL THEN named_struct({', '.join(parts)}) END"
    if source == TIMESTAMP and target == TIME:
        return f"cast(pmod(unix_millis({value}), 86400000) as int)"
    if source == TIMESTAMP and target == BIGINT:  # implied only: a pseudo column beside ISO text
        return f"unix_millis({value})"
    if source == DOUBLE and isinstance(target, DecimalType):  # Spark takes the shortest text of the number
        return exact("decimal_double", objects=[value, null_text(target)])
    return f"cast({value} as {spark_type(target)})"


def _field(value: str, kind: SqlType, name: str) -> str:
    """The field of a struct; its name is the user's, and stands in no text."""
    assert isinstance(kind, StructType)
    return text.field(value, [n for n, _ in kind.fields].index(name))


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
                f"concat({text.string(n + '=')}, {_to_string(text.field(value, i), f)})"
                for i, (n, f) in enumerate(fields)
            ]  # a null field makes its concat null, and concat_ws leaves it out
            return (
                f"CASE WHEN {value} IS NOT NULL THEN concat('Struct{{', concat_ws(',', {', '.join(parts)}), '}}') END"
            )
    if source == TIMESTAMP:
        return f"date_format({value}, {_ISO})"
    if source == TIME:
        at = f"timestamp_millis({value})"
        return f"date_format({at}, CASE WHEN {value} % 1000 = 0 THEN 'HH:mm:ss' ELSE 'HH:mm:ss.SSS' END)"
    if source == STRING:
        return value
    return f"cast({value} as string)"
