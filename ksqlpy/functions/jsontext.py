"""Functions of JSON that stands in a text.

Source of the semantics: ksqlDB's JSON functions. Those that read are Java: numbers keep their digits, names their
order, and paths are ksqlDB's. What stands behind the first value of a text is not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.functions.signatures import ANY, EVERY, ArgTypes, Scalar, Signature, SparkText
from ksqlpy.functions.sparktext import field, java, json_text, plain_in_json, quoted, text_key
from ksqlpy.types import (
    BIGINT,
    BOOLEAN,
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
)

__all__ = ["JSON_TEXT"]

_ISO = quoted("yyyy-MM-dd'T'HH:mm:ss.SSS")
_X, _Y = (text_key(f"cast({e}.key as string)") for e in "xy")
_BY_KEY = f"(x, y) -> case when {_X} < {_Y} then -1 when {_X} > {_Y} then 1 else 0 end"


def _called(function: str) -> SparkText:
    return lambda a, t: java(function, *a)


def _shaped(value: str, t: SqlType) -> str:
    """The value as Spark's to_json writes it right: names in order, dates and times as text."""
    match t:
        case ArrayType(item):
            inner = _shaped("x", item)
            return value if inner == "x" else f"transform({value}, x -> {inner})"
        case MapType(_, item):
            ordered = f"map_from_entries(array_sort(map_entries({value}), {_BY_KEY}))"
            inner = _shaped("x", item)
            return ordered if inner == "x" else f"transform_values({ordered}, (k, x) -> {inner})"
        case StructType(fields):
            by_name = sorted(enumerate(fields), key=lambda f: f[1][0])
            parts = [f"{quoted(n)}, {_shaped(field(value, i), f)}" for i, (n, f) in by_name]
            return f"case when ({value}) is not null then named_struct({', '.join(parts)}) end"
    if t == DATE:
        return f"cast({value} as string)"
    if t == TIMESTAMP:
        return f"date_format({value}, {_ISO})"
    if t == TIME:
        # Java's LocalTime: seconds and their fraction only if there are any.
        pattern = (
            f"case when ({value}) % 60000 = 0 then 'HH:mm' when ({value}) % 1000 = 0 then 'HH:mm:ss'"
            " else 'HH:mm:ss.SSS' end"
        )
        return f"date_format(timestamp_millis({value}), {pattern})"
    return value


def _to_json(a: Sequence[str], t: ArgTypes) -> str:
    shaped = _shaped(a[0], t[0])
    if not plain_in_json(t[0]):
        return json_text(shaped, _sorted(t[0]))
    if isinstance(t[0], ArrayType | MapType | StructType):
        return f"coalesce(to_json({shaped}, map('ignoreNullFields', 'false')), 'null')"
    if t[0] in (BOOLEAN, INTEGER, BIGINT):
        return f"coalesce(cast({shaped} as string), 'null')"
    return json_text(shaped, t[0])


def _sorted(t: SqlType) -> SqlType:
    """The type with the fields of structs by name, as they come out of ``_shaped``."""
    match t:
        case ArrayType(item):
            return ArrayType(_sorted(item))
        case MapType(key, item):
            return MapType(key, _sorted(item))
        case StructType(fields):
            return StructType(tuple((n, _sorted(f)) for n, f in sorted(fields, key=lambda f: f[0])))
    return t


def _json(name: str, help: str, example: str, *signatures: Signature) -> Scalar:
    return Scalar(name, "JSON", help, example, signatures)


JSON_TEXT = (
    _json(
        "EXTRACTJSONFIELD",
        'What stands at a path such as $.name[0]["other name"] in a JSON text: a text without its quotes, anything '
        "else as JSON; null if nothing stands there or the text is no JSON.",
        "EXTRACTJSONFIELD(MESSAGE, '$.log.level')",
        Signature((STRING, STRING), STRING, _called("JsonTexts.Field"), names=("text", "path")),
    ),
    _json(
        "IS_JSON_STRING",
        "Whether the text is a JSON value; false for null.",
        "IS_JSON_STRING(MESSAGE)",
        Signature((STRING,), BOOLEAN, _called("JsonTexts.Valid"), nulls=EVERY, names=("text",)),
    ),
    _json(
        "JSON_ARRAY_CONTAINS",
        "Whether a JSON array has an element that is this value, of the same type; false if the text is no JSON array.",
        "JSON_ARRAY_CONTAINS(TAGS, 'new')",
        Signature(
            (STRING, STRING), BOOLEAN, _called("JsonTexts.ContainsText"), nulls=frozenset({1}), names=("text", "value")
        ),
        Signature(
            (STRING, BOOLEAN),
            BOOLEAN,
            _called("JsonTexts.ContainsBoolean"),
            nulls=frozenset({1}),
            names=("text", "value"),
        ),
        Signature(
            (STRING, BIGINT), BOOLEAN, _called("JsonTexts.ContainsWhole"), nulls=frozenset({1}), names=("text", "value")
        ),
        Signature(
            (STRING, DOUBLE),
            BOOLEAN,
            _called("JsonTexts.ContainsDouble"),
            nulls=frozenset({1}),
            names=("text", "value"),
        ),
    ),
    _json(
        "JSON_ARRAY_LENGTH",
        "How many elements a JSON array has; null if the text is no JSON array.",
        "JSON_ARRAY_LENGTH(TAGS)",
        Signature((STRING,), INTEGER, _called("JsonTexts.ArrayLength"), names=("text",)),
    ),
    _json(
        "JSON_CONCAT",
        "JSON objects put into one, the last of equal names counting; if not all are objects, one array of all values "
        "and elements; null if one is null or no JSON.",
        """JSON_CONCAT(LABELS, '{"seen":true}')""",
        Signature((STRING,), STRING, _called("JsonTexts.Concat"), variadic=True, names=("text",)),
    ),
    _json(
        "JSON_ITEMS",
        "The elements of a JSON array, each as JSON; null if the text is no JSON array.",
        "JSON_ITEMS(TAGS)",
        Signature((STRING,), ArrayType(STRING), _called("JsonTexts.Items"), names=("text",)),
    ),
    _json(
        "JSON_KEYS",
        "The names in a JSON object; null if the text is no JSON object.",
        "JSON_KEYS(LABELS)",
        Signature((STRING,), ArrayType(STRING), _called("JsonTexts.Keys"), names=("text",)),
    ),
    _json(
        "JSON_RECORDS",
        "The values in a JSON object by their names: texts without quotes, anything else as JSON; null if the text is "
        "no JSON object.",
        "JSON_RECORDS(LABELS)",
        Signature((STRING,), MapType(STRING, STRING), _called("JsonTexts.Records"), names=("text",)),
    ),
    _json(
        "TO_JSON_STRING",
        "A value as JSON: names in order, dates and times as ISO text, BYTES in base64; null for a null.",
        "TO_JSON_STRING(ADDRESS)",
        # An untyped NULL fits a type only.
        Signature((STRING,), STRING, _to_json, nulls=EVERY, names=("value",)),
        Signature((ANY,), STRING, _to_json, nulls=EVERY, names=("value",)),
    ),
)
