"""The WITH clause of CREATE: names, types and values of its properties (ksqlDB, WITH properties)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from ksqlpy.analysis.scope import Text
from ksqlpy.catalog import WindowKey
from ksqlpy.errors import similar_names
from ksqlpy.sql.nodes import UNIT_MILLIS

__all__ = ["KEY_FORMATS", "VALUE_FORMATS", "SourceProperties", "read_properties"]

KEY_FORMATS = ("KAFKA", "JSON", "NONE")
VALUE_FORMATS = ("JSON", "KAFKA")

_RESERVED_IDS = ("CSAS_", "CTAS_", "CST_", "INSERTQUERY_", "TRANSIENT_")


@dataclass(frozen=True)
class SourceProperties:
    """The properties of a WITH clause; None where one is not written. ``nodes``: where each value stands."""

    nodes: Mapping[str, exp.Expr]
    topic: str | None = None
    key_format: str | None = None
    value_format: str | None = None
    partitions: int | None = None
    replicas: int | None = None
    retention_ms: int | None = None
    timestamp: str | None = None
    timestamp_format: str | None = None
    wrapped: bool | None = None
    window: WindowKey | None = None
    query_id: str | None = None


def _string(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text in quotes")
    return value


def _format(allowed: Sequence[str]) -> Callable[[object], str]:
    def read(value: object) -> str:
        if isinstance(value, str) and value.upper() in allowed:
            return value.upper()
        raise ValueError(f"one of {', '.join(allowed)}")

    return read


def _count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise ValueError("a whole number above 0")


def _millis(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= -1:
        return value
    raise ValueError("a number of milliseconds, or -1 to keep records for ever")


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise ValueError("true or false")


def _column(value: object) -> str:
    name = _string(value)
    return name[1:-1] if name[0] == name[-1] == "`" and len(name) > 2 else name.upper()


def _query_id(value: object) -> str:
    name = _string(value).upper()
    if not re.fullmatch(r"[A-Z0-9_]+", name):
        raise ValueError("an id of letters, digits and _")
    if name.startswith(_RESERVED_IDS):
        raise ValueError(f"an id that does not begin like the ids the engine gives: {', '.join(_RESERVED_IDS)}")
    return name


def _duration(value: object) -> int:
    words = _string(value).upper().split()
    if len(words) == 2 and words[0].isdigit() and words[1].removesuffix("S") in UNIT_MILLIS and int(words[0]) > 0:
        return int(words[0]) * UNIT_MILLIS[words[1].removesuffix("S")]
    raise ValueError("a length such as '10 MINUTES'")


_READERS: dict[str, tuple[str, Callable[[object], Any]]] = {
    "KAFKA_TOPIC": ("topic", _string),
    "KEY_FORMAT": ("key_format", _format(KEY_FORMATS)),
    "VALUE_FORMAT": ("value_format", _format(VALUE_FORMATS)),
    "FORMAT": ("format", _format(tuple(f for f in KEY_FORMATS if f in VALUE_FORMATS))),
    "PARTITIONS": ("partitions", _count),
    "REPLICAS": ("replicas", _count),
    "RETENTION_MS": ("retention_ms", _millis),
    "TIMESTAMP": ("timestamp", _column),
    "TIMESTAMP_FORMAT": ("timestamp_format", _string),
    "WRAP_SINGLE_VALUE": ("wrapped", _boolean),
    "WINDOW_TYPE": ("window_type", _format(("TUMBLING", "HOPPING"))),
    "WINDOW_SIZE": ("window_size", _duration),
    "QUERY_ID": ("query_id", _query_id),
}


def read_properties(written: Sequence[exp.Expr], text: Text, *, declares: bool) -> SourceProperties:
    """The properties of a WITH clause.

    ``declares``: of CREATE with columns, where the window of the key may be named. Raises AnalysisProblem
    ``unknown-property``, ``duplicate-property`` or ``invalid-property``.
    """
    found: dict[str, Any] = {}
    places: dict[str, exp.Expr] = {}
    for node in written:
        name: str = node.this.name.upper()
        if name not in _READERS or (name.startswith("WINDOW_") and not declares) or (name == "QUERY_ID" and declares):
            text.refuse(
                "unknown-property",
                f"WITH has no property {name}" + ("" if declares else " here"),
                node.this,
                similar=similar_names(name, _READERS),
                hint=f"there are {', '.join(_READERS)}" if not similar_names(name, _READERS) else None,
            )
        if name in places:
            text.refuse("duplicate-property", f"property {name} is given twice", node.this)
        field, read = _READERS[name]
        value = node.args["value"]
        try:
            found[field] = read(_plain(value))
        except ValueError as e:
            text.refuse("invalid-property", f"property {name} takes {e}", value)
        places[name] = value
    if "FORMAT" in places:
        for other in ("KEY_FORMAT", "VALUE_FORMAT"):
            if other in places:
                text.refuse("invalid-property", f"FORMAT and {other} exclude each other", places["FORMAT"])
        found["key_format"] = found["value_format"] = found.pop("format")
    if "TIMESTAMP_FORMAT" in places and "TIMESTAMP" not in places:
        text.refuse("invalid-property", "TIMESTAMP_FORMAT needs TIMESTAMP", places["TIMESTAMP_FORMAT"])
    kind, size = found.pop("window_type", None), found.pop("window_size", None)
    if (kind is None) != (size is None):
        at = places["WINDOW_TYPE" if size is None else "WINDOW_SIZE"]
        text.refuse("invalid-property", "WINDOW_TYPE and WINDOW_SIZE go together", at)
    if kind is not None and size is not None:
        found["window"] = WindowKey(kind, size)
    return SourceProperties(places, **found)


def _plain(node: exp.Expr) -> object:
    """The Python value of a property's literal."""
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Neg):
        inner = _plain(node.this)
        return -inner if isinstance(inner, int | float) else inner
    if isinstance(node, exp.Literal):
        if node.args.get("is_string"):
            return node.this
        return int(node.this) if node.this.isdigit() else float(node.this)
    return None
