"""The WITH clause of CREATE: names, types and values of its properties (ksqlDB, WITH properties)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from sqlglot import exp

from ksqlpy.analysis.scope import Text
from ksqlpy.catalog import Envelope, WindowKey
from ksqlpy.errors import similar_names
from ksqlpy.formats import FORMATS
from ksqlpy.formats.contract import NO_SCHEMA_PROPERTIES, SchemaProperties
from ksqlpy.formats.delimited import delimiter
from ksqlpy.sql.nodes import UNIT_MILLIS
from ksqlpy.topicnames import checked_topic_name

__all__ = ["SourceProperties", "read_properties"]

_RESERVED_IDS = ("CSAS_", "CTAS_", "CST_", "INSERTQUERY_", "TRANSIENT_")


@dataclass(frozen=True)
class SourceProperties:
    """The properties of a WITH clause; None where one is not written. ``nodes``: where each value stands."""

    nodes: Mapping[str, exp.Expr]
    topic: str | None = None
    key_format: str | None = None
    value_format: str | None = None
    key_delimiter: str | None = None
    value_delimiter: str | None = None
    partitions: int | None = None
    replicas: int | None = None
    retention_ms: int | None = None
    timestamp: str | None = None
    timestamp_format: str | None = None
    wrapped: bool | None = None
    window: WindowKey | None = None
    query_id: str | None = None
    headers: str | None = None
    key_schema: SchemaProperties = NO_SCHEMA_PROPERTIES
    value_schema: SchemaProperties = NO_SCHEMA_PROPERTIES
    envelope: Envelope = ""


def _string(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text in quotes")
    return value


def _topic(value: object) -> str:
    return checked_topic_name(_string(value))


def _name(value: object) -> str:
    return _string(value).strip().upper()


def _whole(value: object) -> int | None:
    """A whole number, which may stand in quotes."""
    if isinstance(value, str) and _WHOLE.match(value.strip()):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


_WHOLE = re.compile(r"[+-]?[0-9]{1,19}\Z")


def _count(value: object) -> int:
    number = _whole(value)
    if number is not None and 0 < number < 2**31:
        return number
    raise ValueError("a whole number above 0")


def _replicas(value: object) -> int | None:
    """None for -1, which leaves the number to the brokers."""
    number = _whole(value)
    if number is not None and (number == -1 or 0 < number < 2**15):
        return number if number > 0 else None
    raise ValueError("a whole number above 0, or -1 for the brokers' default")


def _millis(value: object) -> int:
    number = _whole(value)
    if number is not None and -1 <= number < 2**63:
        return number
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


def _window_type(value: object) -> str:
    name = _name(value)
    if name in _WINDOW_TYPES:
        return name
    raise ValueError("TUMBLING, HOPPING or SESSION")


_WINDOW_TYPES = ("TUMBLING", "HOPPING", "SESSION")


def _schema_id(value: object) -> int:
    number = _whole(value)
    if number is not None and 0 <= number < 2**31:
        return number
    raise ValueError("the id of a schema in the schema registry")


def _full_name(value: object) -> str:
    name = value.strip() if isinstance(value, str) else ""
    if re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", name, re.ASCII):
        return name
    raise ValueError("the full name of a record or message, such as 'com.example.Order'")


def _nulls(value: object) -> str:
    name = _name(value)
    if name in ("OPTIONAL", "WRAPPER"):
        return name
    raise ValueError("OPTIONAL or WRAPPER")


def _envelope(value: object) -> str:
    name = _name(value)
    if name == "DEBEZIUM":
        return name
    raise ValueError("DEBEZIUM")


def _duration(value: object) -> int:
    words = _string(value).upper().split()
    if (
        len(words) == 2
        and words[0].isdecimal()
        and len(words[0]) < 16
        and words[1].removesuffix("S") in UNIT_MILLIS
        and int(words[0]) > 0
    ):
        return int(words[0]) * UNIT_MILLIS[words[1].removesuffix("S")]
    raise ValueError("a length such as '10 MINUTES'")


_READERS: dict[str, tuple[str, Callable[[object], Any]]] = {
    "KAFKA_TOPIC": ("topic", _topic),
    "KEY_FORMAT": ("key_format", _name),
    "VALUE_FORMAT": ("value_format", _name),
    "FORMAT": ("format", _name),
    "KEY_DELIMITER": ("key_delimiter", delimiter),
    "VALUE_DELIMITER": ("value_delimiter", delimiter),
    "PARTITIONS": ("partitions", _count),
    "REPLICAS": ("replicas", _replicas),
    "RETENTION_MS": ("retention_ms", _millis),
    "TIMESTAMP": ("timestamp", _column),
    "TIMESTAMP_FORMAT": ("timestamp_format", _string),
    "WRAP_SINGLE_VALUE": ("wrapped", _boolean),
    "WINDOW_TYPE": ("window_type", _window_type),
    "WINDOW_SIZE": ("window_size", _duration),
    "QUERY_ID": ("query_id", _query_id),
    "HEADERS": ("headers", _column),
    "KEY_SCHEMA_ID": ("key_schema.id", _schema_id),
    "VALUE_SCHEMA_ID": ("value_schema.id", _schema_id),
    "KEY_SCHEMA_FULL_NAME": ("key_schema.name", _full_name),
    "VALUE_SCHEMA_FULL_NAME": ("value_schema.name", _full_name),
    "VALUE_AVRO_SCHEMA_FULL_NAME": ("value_schema.name", _full_name),
    "KEY_PROTOBUF_NULLABLE_REPRESENTATION": ("key_schema.nulls", _nulls),
    "VALUE_PROTOBUF_NULLABLE_REPRESENTATION": ("value_schema.nulls", _nulls),
    "VALUE_ENVELOPE": ("envelope", _envelope),
    "SOURCED_BY_CONNECTOR": ("connector", _string),
    "SOURCE_CONNECTOR": ("connector", _string),
}

_DECLARED_ONLY = ("WINDOW_TYPE", "WINDOW_SIZE", "VALUE_ENVELOPE", "SOURCED_BY_CONNECTOR", "SOURCE_CONNECTOR")
"""Properties of CREATE with columns only."""

_QUERIES_ONLY = ("QUERY_ID", "HEADERS")
"""Properties of statements with a query only."""

_GONE = {
    "KEY": "mark the column instead: name type KEY in a stream, PRIMARY KEY in a table",
    "CLEANUP_POLICY": "it follows from the statement: streams delete old records, tables compact them",
}
"""Properties that older or other statements have, and what to do without them."""


def read_properties(written: Sequence[exp.Expr], text: Text, *, declares: bool) -> SourceProperties:
    """The properties of a WITH clause.

    ``declares``: of CREATE with columns, where the window of the key may be named. Raises AnalysisProblem
    ``unknown-property``, ``duplicate-property``, ``invalid-property``, ``unknown-format`` or
    ``format-property``.
    """
    found: dict[str, Any] = {}
    places: dict[str, exp.Expr] = {}
    for node in written:
        name: str = node.this.name.upper()
        if name not in _READERS or name in (_QUERIES_ONLY if declares else _DECLARED_ONLY):
            _refuse_name(name, node.this, written, text, declares=declares)
        if name in places:
            text.refuse("duplicate-property", f"property {name} is given twice", node.this)
        field, read = _READERS[name]
        value = node.args["value"]
        try:
            found[field] = read(_plain(value))
        except ValueError as e:
            text.refuse("invalid-property", f"property {name} takes {e}", value)
        if field.endswith("format") and field != "timestamp_format":
            _check_format(found[field], value, text)
        places[name] = value
    _check_together(places, text)
    for side in ("key_schema", "value_schema"):
        given = {name: found.pop(f"{side}.{name}") for name in ("id", "name", "nulls") if f"{side}.{name}" in found}
        found[side] = SchemaProperties(**given)
    if "FORMAT" in places:
        found["key_format"] = found["value_format"] = found.pop("format")
    found.pop("connector", None)
    kind, size = found.pop("window_type", None), found.pop("window_size", None)
    if kind is not None:
        if (size is None) != (kind == "SESSION"):
            what = "SESSION excludes WINDOW_SIZE: each session has its own" if size else f"{kind} needs WINDOW_SIZE"
            text.refuse("invalid-property", f"WINDOW_TYPE {what}", places["WINDOW_SIZE" if size else "WINDOW_TYPE"])
        found["window"] = WindowKey(kind, size)
    return SourceProperties(places, **found)


def _refuse_name(name: str, node: exp.Expr, written: Sequence[exp.Expr], text: Text, *, declares: bool) -> NoReturn:
    known = [n for n in _READERS if n not in (_QUERIES_ONLY if declares else _DECLARED_ONLY)]
    similar = similar_names(name, known)
    hint = _GONE.get(name) or (f"there are {', '.join(known)}" if not similar else None)
    text.refuse(
        "unknown-property",
        f"WITH has no property {name}" + (" here" if name in _READERS else ""),
        node,
        similar=() if name in _GONE else similar,
        hint=hint,
    )


def _check_format(name: str, node: exp.Expr, text: Text) -> None:
    available = f"the formats are {', '.join(FORMATS)}"
    if name not in FORMATS:
        text.refuse(
            "unknown-format", f"there is no format {name}", node, similar=similar_names(name, FORMATS), hint=available
        )


def _check_together(places: Mapping[str, exp.Expr], text: Text) -> None:
    """Refuses properties that exclude or need each other."""
    for other in ("KEY_FORMAT", "VALUE_FORMAT"):
        if "FORMAT" in places and other in places:
            text.refuse("invalid-property", f"FORMAT and {other} exclude each other", places["FORMAT"])
    if "TIMESTAMP_FORMAT" in places and "TIMESTAMP" not in places:
        text.refuse("invalid-property", "TIMESTAMP_FORMAT needs TIMESTAMP", places["TIMESTAMP_FORMAT"])
    if "VALUE_SCHEMA_FULL_NAME" in places and "VALUE_AVRO_SCHEMA_FULL_NAME" in places:
        text.refuse(
            "invalid-property",
            "VALUE_SCHEMA_FULL_NAME and VALUE_AVRO_SCHEMA_FULL_NAME exclude each other",
            places["VALUE_AVRO_SCHEMA_FULL_NAME"],
        )
    if "VALUE_ENVELOPE" in places and "WRAP_SINGLE_VALUE" in places:
        text.refuse(
            "invalid-property", "VALUE_ENVELOPE and WRAP_SINGLE_VALUE exclude each other", places["WRAP_SINGLE_VALUE"]
        )
    if "WINDOW_SIZE" in places and "WINDOW_TYPE" not in places:
        text.refuse("invalid-property", "WINDOW_SIZE needs WINDOW_TYPE", places["WINDOW_SIZE"])


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
