"""Avro's schemas of columns, and the columns of a schema, as ksqlDB has them.

A record is ``KsqlDataSourceSchema``; each STRUCT in it is named by the path to it. All columns may be null. A MAP is an
array of entries, since its keys may be null for Kafka Connect, whose form ksqlDB writes.
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

__all__ = ["NAMESPACE", "ROOT", "is_map", "key_name", "schema_of", "type_of"]

NAMESPACE = "io.confluent.ksql.avro_schemas"
ROOT = "KsqlDataSourceSchema"
_ENTRY = "MapEntry"
_DEFAULT_ENTRY = "io.confluent.connect.avro.ConnectDefault.MapEntry"
_MOST_DIGITS = 38

_PLAIN: Mapping[SqlType, str] = {
    INTEGER: "int", BIGINT: "long", DOUBLE: "double", BOOLEAN: "boolean", STRING: "string", BYTES: "bytes",
}  # fmt: skip
_LOGICAL: Mapping[SqlType, tuple[str, str, str]] = {
    DATE: ("int", "date", "Date"),
    TIME: ("int", "time-millis", "Time"),
    TIMESTAMP: ("long", "timestamp-millis", "Timestamp"),
}
_CONNECT = "org.apache.kafka.connect.data"


# ---------------------------------------------------------------- columns to a schema


def key_name(source: str) -> str:
    """The full name of the record of a key: of source ``MY_COUNTS`` it ends in ``MyCountsKey`` (ksqlDB: AvroFormat)."""
    return f"{NAMESPACE}." + "".join(word.capitalize() for word in source.split("_")) + "Key"


def schema_of(spec: PartSpec, root: str = f"{NAMESPACE}.{ROOT}") -> str:
    """The schema by which records of the columns are written, as JSON; ``root``: the full name of the record."""
    schema = (
        _plain(spec.columns[0].type, root) if spec.bare else _record([(c.name, c.type) for c in spec.columns], root)
    )
    return json.dumps(schema, separators=(",", ":"))


def _record(fields: Sequence[tuple[str, SqlType]], name: str) -> dict[str, Any]:
    return {
        "type": "record",
        **_named(name),
        "fields": [{"name": n, "type": _nullable(t, f"{name}_{n}"), "default": None} for n, t in fields],
        "connect.name": name,
    }


def _named(full: str) -> dict[str, str]:
    space, _, name = full.rpartition(".")
    return {"name": name, "namespace": space} if space else {"name": name}


def _nullable(type_: SqlType, name: str) -> list[Any]:
    return ["null", _plain(type_, name)]


def _plain(type_: SqlType, name: str) -> Any:
    match type_:
        case ArrayType(item):
            return {"type": "array", "items": _nullable(item, name)}
        case MapType(_, item):
            fields = [
                {"name": "key", "type": ["null", "string"], "default": None},
                {"name": "value", "type": _nullable(item, f"{name}_MapValue"), "default": None},
            ]
            entry = {"type": "record", **_named(name), "fields": fields}
            return {"type": "array", "items": {**entry, "connect.internal.type": _ENTRY}}
        case StructType(fields_):
            return _record(fields_, name)
        case DecimalType(precision, scale):
            return {
                "type": "bytes",
                "scale": scale,
                "precision": precision,
                "connect.version": 1,
                "connect.parameters": {"scale": str(scale), "connect.decimal.precision": str(precision)},
                "connect.name": f"{_CONNECT}.Decimal",
                "logicalType": "decimal",
            }
    if type_ in _LOGICAL:
        plain, logical, connect = _LOGICAL[type_]
        return {
            "type": plain,
            "connect.version": 1,
            "connect.name": f"{_CONNECT}.{connect}",
            "logicalType": logical,
        }
    return _PLAIN[type_]


# ---------------------------------------------------------------- a schema to columns


@bounded
def type_of(text: str, references: Sequence[tuple[str, str]] = (), *, keep_case: bool = False) -> SqlType:
    """The type of the values of a schema, with names in upper case; raises Unsupported.

    ``references``: the texts of the schemas that it refers to, by name; ``keep_case``: names as the schema has them.
    """
    known: dict[str, Any] = {}
    for _, reference in references:
        _type(json.loads(reference), "", known, ())
    found = _type(json.loads(text), "", known, ())
    return found if keep_case else in_upper_case(found)


def is_map(schema: Mapping[str, Any]) -> bool:
    """Whether an array is one of the entries of a map, as Kafka Connect writes it."""
    item = schema.get("items")
    if not isinstance(item, dict) or item.get("type") != "record":
        return False
    full = _full_name(item, "")
    return item.get("connect.internal.type") == _ENTRY or full == _DEFAULT_ENTRY


def _full_name(schema: Mapping[str, Any], space: str) -> str:
    name = str(schema["name"])
    inside = schema.get("namespace", space)
    return name if "." in name or not inside else f"{inside}.{name}"


def _type(schema: Any, space: str, known: dict[str, Any], around: tuple[str, ...]) -> SqlType:
    """``space``: the namespace around; ``known``: named schemas so far; ``around``: the records that it stands in."""
    one_more()
    if isinstance(schema, list):
        others = [s for s in schema if s != "null"]
        if len(others) != 1:
            raise Unsupported("it has a union of several types")
        return _type(others[0], space, known, around)
    if isinstance(schema, str):
        if schema not in _SCALARS:
            full = schema if "." in schema or not space else f"{space}.{schema}"
            if full in around:
                raise Unsupported(f"the record {full} holds itself")
            if full not in known:
                raise Unsupported(f"it has the type {schema}")
            inner, where = known[full]
            return _type(inner, where, known, around)
        return _SCALARS[schema]
    kind, logical = schema["type"], schema.get("logicalType")
    if kind in ("record", "enum", "fixed"):
        full = _full_name(schema, space)
        known[full] = (schema, space)
        space = full.rpartition(".")[0]
    match kind:
        case "record":
            names: dict[str, SqlType] = {}
            for field in schema["fields"]:
                names[field["name"]] = _type(field["type"], space, known, (*around, full))
            return StructType(tuple(names.items()))
        case "array":
            if is_map(schema):
                value = next(f for f in schema["items"]["fields"] if f["name"] == "value")
                inside = _full_name(schema["items"], space).rpartition(".")[0]
                return MapType(STRING, _type(value["type"], inside, known, around))
            return ArrayType(_type(schema["items"], space, known, around))
        case "map":
            return MapType(STRING, _type(schema["values"], space, known, around))
        case "enum":
            return STRING
        case "bytes" | "fixed":
            return _bytes(schema) if logical == "decimal" else BYTES
        case str():
            for type_, (plain, name, _) in _LOGICAL.items():
                if (kind, logical) == (plain, name):
                    return type_
    return _type(kind, space, known, around)


def _bytes(schema: Mapping[str, Any]) -> SqlType:
    precision, scale = schema.get("precision", 64), schema.get("scale", 0)
    if precision > _MOST_DIGITS:
        raise Unsupported(f"it has a decimal of {precision} digits, the most are {_MOST_DIGITS}")
    return DecimalType(precision, scale)


_SCALARS: Mapping[str, SqlType] = {
    "int": INTEGER, "long": BIGINT, "float": DOUBLE, "double": DOUBLE, "boolean": BOOLEAN, "string": STRING,
    "bytes": BYTES,
}  # fmt: skip
