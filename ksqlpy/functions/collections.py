"""Functions of arrays and maps.

Source of the semantics: ksqlDB's array and map functions, and its lambda functions.
"""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.functions.conditional import comparable
from ksqlpy.functions.signatures import (
    ANY_ARRAY,
    ANY_MAP,
    EVERY,
    ArgTypes,
    ArrayOf,
    Family,
    LambdaParameter,
    Scalar,
    Signature,
    SparkText,
    same,
)
from ksqlpy.functions.sparktext import MOST, bound, comparable_form, key_text, once, text_constant, text_key
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
    StructType,
    is_numeric,
)

__all__ = ["COLLECTIONS"]

_PLAIN = (BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP)


def _first(types: ArgTypes) -> SqlType:
    return types[0]


def _second(types: ArgTypes) -> SqlType:
    return types[1]


def _item(types: ArgTypes) -> SqlType:
    t = types[0]
    assert isinstance(t, ArrayType)
    return t.item


def _entry(types: ArgTypes) -> tuple[SqlType, SqlType]:
    t = types[0]
    assert isinstance(t, MapType)
    return t.key, t.value


def _keys(types: ArgTypes) -> SqlType:
    return ArrayType(_entry(types)[0])


def _values(types: ArgTypes) -> SqlType:
    return ArrayType(_entry(types)[1])


def _call(function: str) -> SparkText:
    return lambda a, t: f"{function}({', '.join(a)})"


def _among(array: str, value: str, item: SqlType) -> str:
    """Whether an equal one is in the array; a null equals a null."""
    return f"exists({array}, __item -> {comparable_form('__item', item)} <=> ({comparable_form(value, item)}))"


def _contains(a: Sequence[str], t: ArgTypes) -> str:
    return f"coalesce({_among(a[0], a[1], t[1])}, false)"


def _remove(a: Sequence[str], t: ArgTypes) -> str:
    same = f"{comparable_form('__item', t[1])} <=> ({comparable_form(a[1], t[1])})"
    return f"filter({a[0]}, __item -> not ({same}))"


def _distinct(a: Sequence[str], t: ArgTypes) -> str:
    if comparable(t[0]):
        return f"array_distinct({a[0]})"
    first = f"not {_among('slice(__all, 1, __n)', '__one', _item(t))}"
    return f"element_at(transform(array({a[0]}), __all -> filter(__all, (__one, __n) -> {first})), 1)"


def _set_of(function: str, both: str) -> SparkText:
    """``function``: Spark's own for items that it can compare; ``both``: the items of two arrays, repeated or not."""

    def text(a: Sequence[str], t: ArgTypes) -> str:
        if comparable(t[0]):
            return f"{function}({a[0]}, {a[1]})"
        there = _among("__right", "__one", _item(t))
        left = f"transform(array({a[0]}), __left -> {both.format(there=there)})"
        items = f"element_at(transform(array({a[1]}), __right -> element_at({left}, 1)), 1)"
        return f"case when ({a[1]}) is not null then {_distinct([items], t)} end"

    return text


def _by_units(spark: SparkText) -> SparkText:
    """Spark's order of texts is not Java's: items are put in order, or chosen, by bytes that are in that order."""

    def text(a: Sequence[str], t: ArgTypes) -> str:
        if t[0] != ArrayType(STRING):
            return spark(a, t)
        return spark([f"transform({a[0]}, __item -> {text_key('__item')})", *a[1:]], t)

    return text


def _one_by_units(function: str) -> SparkText:
    pick = _by_units(_call(function))
    return lambda a, t: key_text(pick(a, t)) if t[0] == ArrayType(STRING) else pick(a, t)


def _sort_by_units(a: Sequence[str], t: ArgTypes) -> str:
    ordered = _by_units(_sort)(a, t)
    return f"transform({ordered}, __item -> {key_text('__item')})" if t[0] == ArrayType(STRING) else ordered


def _together(function: str) -> SparkText:
    """Both collections together; a null one is left out."""
    return lambda a, t: once(a, lambda x: f"ksqlpy_bounded(coalesce({function}({x[0]}, {x[1]}), {x[0]}, {x[1]}))")


def _join(a: Sequence[str], t: ArgTypes) -> str:
    separator = f"coalesce({a[1]}, '')" if len(a) > 1 else "','"
    return f"ksqlpy_joined_with({separator}, cast({a[0]} as array<string>), 'null')"


def _slice(a: Sequence[str], t: ArgTypes) -> str:
    begin = f"coalesce({a[1]}, 1)"

    def body(x: str) -> str:
        end = f"coalesce({a[2]}, array_size({x}))"
        inside = f"{begin} >= 1 and {end} <= array_size({x}) and {end} >= {begin} - 1"
        return f"case when {inside} then slice({x}, {begin}, {end} - {begin} + 1) end"

    return bound(a[0], body)


_ASCENDING, _DESCENDING = ("ASC", "ASCENDING"), ("DESC", "DESCENDING")


def _sort(a: Sequence[str], t: ArgTypes) -> str:
    up, down = f"array_sort({a[0]})", f"sort_array({a[0]}, false)"  # nulls come last in both
    if len(a) == 1:
        return up
    constant = text_constant(a[1])
    if constant is not None and constant.upper() in (*_ASCENDING, *_DESCENDING):
        return up if constant.upper() in _ASCENDING else down
    return f"case when upper({a[1]}) in {_ASCENDING!r} then {up} when upper({a[1]}) in {_DESCENDING!r} then {down} end"


def _as_map(a: Sequence[str], t: ArgTypes) -> str:
    # A key without a value gets a null; Spark has no null keys.
    entries = f"transform(__keys, (__key, __i) -> struct(__key, get({a[1]}, __i)))"
    body = f"case when not exists(__keys, __key -> __key is null) then map_from_entries({entries}) end"
    return f"case when ({a[1]}) is not null then element_at(transform(array({a[0]}), __keys -> {body}), 1) end"


def _entries_type(types: ArgTypes) -> SqlType:
    key, value = _entry(types)
    return ArrayType(StructType((("K", key), ("V", value))))


def _entries(a: Sequence[str], t: ArgTypes) -> str:
    entries = f"transform(map_entries({a[0]}), __entry -> named_struct('K', __entry.key, 'V', __entry.value))"
    keyed = f"transform({entries}, __entry -> struct({text_key('__entry.K')} AS `key`, __entry AS `entry`))"
    ordered = f"transform(array_sort({keyed}), __entry -> __entry.entry)"
    return f"case when ({a[1]}) then {ordered} when not ({a[1]}) then {entries} end"


def _series(a: Sequence[str], t: ArgTypes) -> str:
    begin, end = a[0], a[1]
    if len(a) == 2:
        guard = f"abs(cast({end} as decimal(20)) - cast({begin} as decimal(20))) < {MOST}"
        return f"case when {guard} then sequence({begin}, {end}) end"
    step = f"cast({a[2]} as {'int' if t[0] == INTEGER else 'bigint'})"
    way = f"(({end}) = ({begin}) or sign({a[2]}) = sign(cast({end} as decimal(20)) - cast({begin} as decimal(20))))"
    guard = f"abs(cast({end} as decimal(20)) - cast({begin} as decimal(20))) / abs({a[2]}) < {MOST}"
    return f"case when ({a[2]}) <> 0 and {way} and {guard} then sequence({begin}, {end}, {step}) end"


def _transformed_map_type(types: ArgTypes) -> SqlType:
    return MapType(types[1], types[2])


def _transform_map(a: Sequence[str], t: ArgTypes) -> str:
    # New keys that are null or doubled, and null values, are errors.
    keys = f"map_values(transform_values({a[0]}, {a[1]}))"
    values = f"map_values(transform_values({a[0]}, {a[2]}))"
    right = (
        "not exists(__new.k, __x -> __x is null) and not exists(__new.v, __x -> __x is null)"
        " and array_size(array_distinct(__new.k)) = array_size(__new.k)"
    )
    body = f"case when {right} then map_from_arrays(__new.k, __new.v) end"
    made = f"element_at(transform(array(named_struct('k', {keys}, 'v', {values})), __new -> {body}), 1)"
    return f"case when ({a[0]}) is not null then {made} end"


def _reduce(collection: str) -> SparkText:
    def text(a: Sequence[str], t: ArgTypes) -> str:
        reduced = f"aggregate({collection.format(a[0])}, {a[1]}, {_kept_small(a[2], t[1])})"
        return f"case when ({a[1]}) is null then null when ({a[0]}) is null then {a[1]} else {reduced} end"

    return text


def _kept_small(step: str, state: SqlType) -> str:
    """The lambda, null where its state has grown too long: ``(S, X) => S + S`` doubles it each time."""
    size = "array_size" if isinstance(state, ArrayType) else "octet_length"
    if not isinstance(state, ArrayType) and state not in (STRING, BYTES):
        return step
    parameters, _, body = step.partition(" -> ")
    name = parameters.strip("()").split(",")[0]
    return f"{parameters} -> case when coalesce({size}({name}), 0) <= {MOST} then {body} end"


def _of_item(types: ArgTypes) -> tuple[SqlType, ...]:
    return (_item(types),)


def _state_and_item(types: ArgTypes) -> tuple[SqlType, ...]:
    return types[1], _item(types)


def _state_and_entry(types: ArgTypes) -> tuple[SqlType, ...]:
    return types[1], *_entry(types)


_ORDERED_ITEMS = Family(
    "ARRAY", lambda t: isinstance(t, ArrayType) and (is_numeric(t.item) or (t.item in _PLAIN and t.item != BYTES))
)
_TEXT_ITEMS = Family(
    "ARRAY", lambda t: isinstance(t, ArrayType) and (is_numeric(t.item) or t.item in (BOOLEAN, STRING))
)
_TEXT_KEYS = Family("MAP", lambda t: isinstance(t, MapType) and t.key == STRING)
_SIMPLE_VALUES = Family(
    "MAP",
    lambda t: isinstance(t, MapType) and t.key == STRING and t.value in (INTEGER, BIGINT, DOUBLE, BOOLEAN, STRING),
)
_SAME_ARRAYS = same("ARRAY", lambda t: isinstance(t, ArrayType))
_SAME_MAPS = same("MAP", lambda t: isinstance(t, MapType))
_ITEM = same()
_STATE = Family("S", lambda t: True)


def _array(name: str, help: str, example: str, *signatures: Signature) -> Scalar:
    return Scalar(name, "ARRAY", help, example, signatures)


def _map(name: str, help: str, example: str, *signatures: Signature) -> Scalar:
    return Scalar(name, "MAP", help, example, signatures)


def _lambda(name: str, help: str, example: str, *signatures: Signature) -> Scalar:
    return Scalar(name, "LAMBDA", help, example, signatures)


def _pair(spark: SparkText, nulls: frozenset[int] = frozenset()) -> Signature:
    return Signature((_SAME_ARRAYS, _SAME_ARRAYS), _first, spark, nulls=nulls, names=("left", "right"))


COLLECTIONS = (
    _array(
        "ARRAY_CONCAT",
        "The elements of the first array and then those of the second; a null array counts as empty beside another.",
        "ARRAY_CONCAT(TAGS, ARRAY['new'])",
        Signature((_SAME_ARRAYS, _SAME_ARRAYS), _first, _together("concat"), nulls=EVERY, names=("left", "right")),
    ),
    _array(
        "ARRAY_CONTAINS",
        "Whether a value, which may be null, is in the array; false for a null array.",
        "ARRAY_CONTAINS(TAGS, 'new')",
        Signature((ArrayOf(_ITEM), _ITEM), BOOLEAN, _contains, nulls=EVERY, names=("array", "value")),
    ),
    _array(
        "ARRAY_DISTINCT",
        "The elements without repetitions, in the order in which they first occur.",
        "ARRAY_DISTINCT(TAGS)",
        Signature((ANY_ARRAY,), _first, _distinct, names=("array",)),
    ),
    _array(
        "ARRAY_EXCEPT",
        "The elements of the first array that are not in the second, each once.",
        "ARRAY_EXCEPT(TAGS, ARRAY['old'])",
        _pair(_set_of("array_except", "filter(__left, __one -> not {there})")),
    ),
    _array(
        "ARRAY_INTERSECT",
        "The elements that are in both arrays, each once, in the order of the first.",
        "ARRAY_INTERSECT(TAGS, WANTED)",
        _pair(_set_of("array_intersect", "filter(__left, __one -> {there})")),
    ),
    _array(
        "ARRAY_JOIN",
        "The elements as text with a separator (a comma if none is given) between them; a null reads null.",
        "ARRAY_JOIN(TAGS, '; ')",
        Signature((_TEXT_ITEMS,), STRING, _join, names=("array",)),
        Signature((_TEXT_ITEMS, STRING), STRING, _join, nulls=frozenset({1}), names=("array", "separator")),
    ),
    _array(
        "ARRAY_LENGTH",
        "How many elements the array has, nulls included.",
        "ARRAY_LENGTH(TAGS)",
        Signature((ANY_ARRAY,), INTEGER, _call("array_size"), names=("array",)),
    ),
    _array(
        "ARRAY_MAX",
        "The greatest element; nulls do not count.",
        "ARRAY_MAX(PRICES)",
        Signature((_ORDERED_ITEMS,), _item, _one_by_units("array_max"), names=("array",)),
    ),
    _array(
        "ARRAY_MIN",
        "The least element; nulls do not count.",
        "ARRAY_MIN(PRICES)",
        Signature((_ORDERED_ITEMS,), _item, _one_by_units("array_min"), names=("array",)),
    ),
    _array(
        "ARRAY_REMOVE",
        "The array without the elements that equal the value, which may be null.",
        "ARRAY_REMOVE(TAGS, 'old')",
        Signature((ArrayOf(_ITEM), _ITEM), _first, _remove, nulls=frozenset({1}), names=("array", "value")),
    ),
    _array(
        "ARRAY_SORT",
        "The elements in order, nulls at the end; 'DESC' or 'DESCENDING' turns the others round.",
        "ARRAY_SORT(PRICES, 'DESC')",
        Signature((_ORDERED_ITEMS,), _first, _sort_by_units, names=("array",)),
        Signature((_ORDERED_ITEMS, STRING), _first, _sort_by_units, names=("array", "direction")),
    ),
    _array(
        "ARRAY_UNION",
        "The elements of both arrays, each once, in the order in which they first occur.",
        "ARRAY_UNION(TAGS, WANTED)",
        _pair(_set_of("array_union", "concat(__left, __right)")),
    ),
    _array(
        "GENERATE_SERIES",
        "The whole numbers from the first argument to the second, both included; without a step it is 1 or -1.",
        "GENERATE_SERIES(1, SEATS)",
        *(
            Signature((x, x, *step), ArrayType(x), _series, names=("start", "end", "step")[: 2 + len(step)], fails=True)
            for x in (INTEGER, BIGINT)
            for step in ((), (INTEGER,))
        ),
    ),
    _array(
        "SLICE",
        "The elements from one place to another, both included and counted from 1; a null place leaves that end open.",
        "SLICE(TAGS, 1, 3)",
        Signature(
            (ANY_ARRAY, INTEGER, INTEGER), _first, _slice, nulls=frozenset({1, 2}), names=("array", "from", "to")
        ),
    ),
    _map(
        "AS_MAP",
        "The map of these keys and values; what one has more of the other is null.",
        "AS_MAP(NAMES, PRICES)",
        Signature(
            (ArrayType(STRING), ANY_ARRAY),
            lambda t: MapType(STRING, _item(t[1:])),
            _as_map,
            names=("keys", "values"),
            fails=True,
        ),
    ),
    _map(
        "ENTRIES",
        "The entries of a map as structs of K and V, ordered by K if the second argument is true.",
        "ENTRIES(LABELS, TRUE)",
        Signature((_SIMPLE_VALUES, BOOLEAN), _entries_type, _entries, names=("map", "sorted")),
    ),
    _map(
        "MAP_KEYS",
        "The keys of the map, in the order in which it holds them.",
        "MAP_KEYS(LABELS)",
        Signature((_TEXT_KEYS,), _keys, _call("map_keys"), names=("map",)),
    ),
    _map(
        "MAP_UNION",
        "The entries of both maps, for keys in both those of the second; a null map counts as empty beside another.",
        "MAP_UNION(LABELS, MORE_LABELS)",
        Signature((_SAME_MAPS, _SAME_MAPS), _first, _together("map_concat"), nulls=EVERY, names=("left", "right")),
    ),
    _map(
        "MAP_VALUES",
        "The values of the map, in the order in which it holds them.",
        "MAP_VALUES(LABELS)",
        Signature((_TEXT_KEYS,), _values, _call("map_values"), names=("map",)),
    ),
    _lambda(
        "FILTER",
        "The elements, or entries, for which the lambda is true.",
        "FILTER(PRICES, X => X > 10)",
        Signature(
            (ANY_ARRAY, LambdaParameter("T => BOOLEAN", _of_item, BOOLEAN)),
            _first,
            _call("filter"),
            names=("array", "condition"),
            fails=True,
        ),
        Signature(
            (ANY_MAP, LambdaParameter("(K, V) => BOOLEAN", _entry, BOOLEAN)),
            _first,
            _call("map_filter"),
            names=("map", "condition"),
            fails=True,
        ),
    ),
    _lambda(
        "REDUCE",
        "What the lambda makes, beginning with the second argument, of the state so far and each element or entry.",
        "REDUCE(PRICES, 0, (SUM, X) => SUM + X)",
        Signature(
            (ANY_ARRAY, _STATE, LambdaParameter("(S, T) => S", _state_and_item, grows=1)),
            _second,
            _reduce("{}"),
            nulls=frozenset({0}),
            names=("array", "state", "step"),
        ),
        Signature(
            (ANY_MAP, _STATE, LambdaParameter("(S, K, V) => S", _state_and_entry, grows=1, entry=True)),
            _second,
            _reduce("map_entries({})"),
            nulls=frozenset({0}),
            names=("map", "state", "step"),
        ),
    ),
    _lambda(
        "TRANSFORM",
        "What the lambda makes of each element; of a map what the first makes of each key, the second of each value.",
        "TRANSFORM(PRICES, X => X * 2)",
        Signature(
            (ANY_ARRAY, LambdaParameter("T => R", _of_item)),
            lambda t: ArrayType(t[1]),
            lambda a, t: f"ksqlpy_bounded(transform({a[0]}, {a[1]}))",
            names=("array", "change"),
            fails=True,
        ),
        Signature(
            (
                ANY_MAP,
                LambdaParameter("(K, V) => R", _entry, accepts=comparable),
                LambdaParameter("(K, V) => S", _entry),
            ),
            _transformed_map_type,
            _transform_map,
            names=("map", "key", "value"),
            fails=True,
        ),
    ),
)
