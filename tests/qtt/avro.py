"""Values of cases to Avro and back, by fastavro and the schema that the registry has: none of the product's rules."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import fastavro

from ksqlpy.types import ALL_DIGITS

__all__ = ["from_avro", "to_avro"]


def to_avro(schema: str, tree: Any) -> bytes:
    """The bytes of a tree of JSON; raises ValueError for one that the schema does not have."""
    whole = json.loads(schema)
    out = io.BytesIO()
    try:
        fastavro.schemaless_writer(out, _parsed(whole), _Named(whole).given(whole, tree))
    except (TypeError, KeyError, AttributeError) as e:
        raise ValueError(f"{tree!r} is nothing of {schema}: {e}") from e
    return out.getvalue()


def from_avro(schema: str, data: bytes) -> Any:
    """The tree of JSON that bytes stand for."""
    whole = json.loads(schema)
    return _Named(whole).shown(whole, fastavro.schemaless_reader(io.BytesIO(data), _parsed(whole), None))


def _parsed(schema: Any) -> Any:
    return fastavro.parse_schema(_plain(schema))


def _plain(schema: Any) -> Any:
    """Without logical types: values are given and taken as they lie in the bytes."""
    if isinstance(schema, list):
        return [_plain(s) for s in schema]
    if isinstance(schema, dict):
        return {k: v if k == "default" else _plain(v) for k, v in schema.items() if k != "logicalType"}
    return schema


class _Named:
    """Walks a schema; types that have a name are found by it, with or without their namespace."""

    def __init__(self, schema: Any) -> None:
        self._types: dict[str, Any] = {}
        self._note(schema)

    def _note(self, schema: Any) -> None:
        if isinstance(schema, list):
            for s in schema:
                self._note(s)
        elif isinstance(schema, dict):
            if isinstance(schema.get("name"), str) and schema.get("type") in ("record", "enum", "fixed"):
                self._types[schema["name"].rpartition(".")[2]] = schema
            for part in ("type", "items", "values", "fields"):
                self._note(schema.get(part))

    def _resolved(self, schema: Any) -> tuple[str, Mapping[str, Any]]:
        if isinstance(schema, str):
            named = self._types.get(schema.rpartition(".")[2])
            return (schema, {}) if named is None else self._resolved(named)
        kind = schema["type"]
        return (kind, schema) if isinstance(kind, str) and kind not in self._types else self._resolved(kind)

    def given(self, schema: Any, tree: Any) -> Any:
        if isinstance(schema, list):
            others = [s for s in schema if s != "null"]
            return None if tree is None else self.given(others[0], tree)
        kind, described = self._resolved(schema)
        match kind:
            case "record":
                found = {k.upper(): v for k, v in tree.items()}
                return {
                    f["name"]: self.given(f["type"], found.get(f["name"].upper(), f.get("default")))
                    for f in described["fields"]
                }
            case "map":
                return {k: self.given(described["values"], v) for k, v in tree.items()}
            case "array" if isinstance(tree, dict):
                return [self.given(described["items"], {"key": k, "value": v}) for k, v in tree.items()]
            case "array":
                return [self.given(described["items"], v) for v in tree]
            case "bytes" | "fixed" if described.get("logicalType") == "decimal":
                whole = int(Decimal(str(tree)).scaleb(described.get("scale", 0), ALL_DIGITS))
                return whole.to_bytes((whole if whole >= 0 else ~whole).bit_length() // 8 + 1, signed=True)
            case "bytes" | "fixed":
                return base64.b64decode(tree)
            case "float" | "double":
                return float(tree)
            case "int" | "long":
                return int(tree)
            case "string" if isinstance(tree, int | Decimal) and not isinstance(tree, bool):
                return str(tree)  # as Connect's converter of ksqlDB's own runner takes it
        return tree

    def shown(self, schema: Any, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(schema, list):
            return self.shown(next(s for s in schema if s != "null"), value)
        kind, described = self._resolved(schema)
        match kind:
            case "record":
                return {f["name"]: self.shown(f["type"], value[f["name"]]) for f in described["fields"]}
            case "map":
                return {k: self.shown(described["values"], v) for k, v in value.items()}
            case "array":
                items = [self.shown(described["items"], v) for v in value]
                _, item = self._resolved(described["items"]) if not isinstance(described["items"], list) else ("", {})
                entries = item.get("connect.internal.type") == "MapEntry"
                return {i["key"]: i["value"] for i in items} if entries else items
            case "bytes" | "fixed" if described.get("logicalType") == "decimal":
                return Decimal(int.from_bytes(value, signed=True)).scaleb(-described.get("scale", 0), ALL_DIGITS)
            case "bytes" | "fixed":
                return base64.b64encode(value).decode()
        return value
