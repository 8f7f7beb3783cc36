"""JSON Schemas of columns, and the types of a schema, as Kafka Connect's JsonSchemaConverter has them.

All columns may be null: ``oneOf`` null and the type. What JSON Schema does not tell apart stands in ``connect.type``,
``connect.index`` and ``title``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ksqlpy.catalog import PartSpec
from ksqlpy.formats.bounds import bounded, one_more
from ksqlpy.formats.subjects import Unsupported, in_upper_case
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
)

__all__ = ["schema_of", "type_of"]

_MOST_DIGITS = 38
_CONNECT = "org.apache.kafka.connect.data"
_PLAIN: Mapping[SqlType, tuple[str, str | None]] = {
    INTEGER: ("integer", "int32"), BIGINT: ("integer", "int64"), DOUBLE: ("number", "float64"),
    BOOLEAN: ("boolean", None), STRING: ("string", None), BYTES: ("string", "bytes"),
}  # fmt: skip
_TIMES: Mapping[SqlType, tuple[str, str]] = {
    DATE: ("Date", "int32"), TIME: ("Time", "int32"), TIMESTAMP: ("Timestamp", "int64"),
}  # fmt: skip


# ---------------------------------------------------------------- columns to a schema


def schema_of(spec: PartSpec) -> str:
    """The schema of the records of the columns, as JSON text."""
    schema = _plain(spec.columns[0].type) if spec.bare else _record([(c.name, c.type) for c in spec.columns])
    if spec.schema_name is not None and not spec.bare:
        schema = {"title": spec.schema_name, **schema}
    return json.dumps(schema, separators=(",", ":"))


def _record(fields: Sequence[tuple[str, SqlType]]) -> dict[str, Any]:
    return {"type": "object", "properties": {n: _nullable(t, i) for i, (n, t) in enumerate(fields)}}


def _nullable(type_: SqlType, index: int | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"oneOf": [{"type": "null"}, _plain(type_)]}
    return found if index is None else {"connect.index": index, **found}


def _plain(type_: SqlType) -> dict[str, Any]:
    match type_:
        case ArrayType(item):
            return {"type": "array", "items": _nullable(item)}
        case MapType(_, item):
            return {"type": "object", "connect.type": "map", "additionalProperties": _nullable(item)}
        case StructType(fields):
            return _record(fields)
        case DecimalType(precision, scale):
            parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
            return {**_titled("number", "Decimal", "bytes"), "connect.parameters": parameters}
    if type_ in _TIMES:
        return _titled("integer", *_TIMES[type_])
    kind, connect = _PLAIN[type_]
    return {"type": kind} if connect is None else {"type": kind, "connect.type": connect}


def _titled(kind: str, name: str, connect: str) -> dict[str, Any]:
    return {"type": kind, "title": f"{_CONNECT}.{name}", "connect.version": 1, "connect.type": connect}


# ---------------------------------------------------------------- a schema to a type


@bounded
def type_of(text: str, references: Sequence[tuple[str, str]] = (), *, keep_case: bool = False) -> SqlType:
    """The type of the values of a schema, with names in upper case; raises Unsupported.

    ``references``: the texts of the schemas that it refers to, by name; ``keep_case``: names as the schema has them.
    """
    schemas = {name: json.loads(reference) for name, reference in references}
    whole = json.loads(text)
    found = _type(whole, _Schemas(whole, schemas), ())
    return found if keep_case else in_upper_case(found)


class _Schemas:
    """A schema, and those that it refers to by name."""

    def __init__(self, whole: Any, others: Mapping[str, Any]) -> None:
        self.whole = whole
        self._others = others

    def found(self, place: str) -> tuple[Any, _Schemas]:
        """What a reference names, and the schema that it is in (JSON Pointer); raises Unsupported."""
        name, _, pointer = place.partition("#")
        if name and name not in self._others:
            raise Unsupported(f"it refers to {name}, which the schema registry does not give")
        inside = _Schemas(self._others[name], self._others) if name else self
        found = inside.whole
        for step in filter(None, pointer.split("/")):
            found = found[step.replace("~1", "/").replace("~0", "~")]
        return found, inside


def _type(schema: Any, whole: _Schemas, around: tuple[str, ...]) -> SqlType:
    """``around``: the references that it stands behind."""
    one_more()
    if not isinstance(schema, Mapping):
        raise Unsupported("a part of it describes nothing")
    if "$ref" in schema:
        place = str(schema["$ref"])
        if place in around:
            raise Unsupported(f"{place} holds itself")
        return _type(*whole.found(place), (*around, place))
    for choice in ("oneOf", "anyOf", "allOf"):
        if choice in schema:
            others = [s for s in schema[choice] if not (isinstance(s, Mapping) and s.get("type") == "null")]
            if len(others) != 1:
                raise Unsupported("it has a union of several types")
            return _type(others[0], whole, around)
    kinds = schema.get("type")
    if isinstance(kinds, list):
        kinds = [k for k in kinds if k != "null"]
        if len(kinds) != 1:
            raise Unsupported("it has a union of several types")
        [kinds] = kinds
    title, connect = str(schema.get("title", "")).removeprefix(f"{_CONNECT}."), schema.get("connect.type")
    match kinds:
        case "boolean":
            return BOOLEAN
        case "integer":
            timed = next((t for t, known in _TIMES.items() if known == (title, connect)), None)
            return timed or (INTEGER if connect in ("int8", "int16", "int32") else BIGINT)
        case "number":
            return _decimal(schema) if (title, connect) == ("Decimal", "bytes") else DOUBLE
        case "string":
            return BYTES if connect == "bytes" else STRING
        case "array" if connect == "map":
            return MapType(STRING, _type(schema["items"]["properties"]["value"], whole, around))
        case "array":
            return ArrayType(_type(schema.get("items"), whole, around))
        case "object" if connect == "map" or "properties" not in schema:
            return MapType(STRING, _type(schema.get("additionalProperties"), whole, around))
        case "object":
            return _struct(schema["properties"], whole, around)
        case None if "enum" in schema:
            return STRING
    raise Unsupported("a part of it has no type" if kinds is None else f"it has the type {kinds}")


def _struct(properties: Mapping[str, Any], whole: _Schemas, around: tuple[str, ...]) -> StructType:
    ordered = sorted(properties.items(), key=lambda p: p[1].get("connect.index", 0))
    fields: dict[str, SqlType] = {}
    for name, schema in ordered:
        fields[name] = _type(schema, whole, around)
    return StructType(tuple(fields.items()))


def _decimal(schema: Mapping[str, Any]) -> SqlType:
    parameters = schema.get("connect.parameters") or {}
    precision = int(parameters.get("connect.decimal.precision", _MOST_DIGITS))
    if precision > _MOST_DIGITS:
        raise Unsupported(f"it has a decimal of {precision} digits, the most are {_MOST_DIGITS}")
    return DecimalType(precision, int(parameters.get("scale", 0)))
