"""A source as a server describes it, and where its records go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ksqlpy.analysis import analyze_create
from ksqlpy.catalog import Catalog, Column, Header, Source, ValueSpec, WindowKey
from ksqlpy.client import Client
from ksqlpy.config import Config
from ksqlpy.errors import AnalysisProblem, EngineProblem, KsqlError
from ksqlpy.formats import key_spec
from ksqlpy.sql import nodes, parse
from ksqlpy.types import STRING, ArrayType, DecimalType, MapType, Scalar, SqlType, StructType

__all__ = ["described"]


def described(client: Client, name: str) -> tuple[Source, str]:
    """The source, and the ``bootstrap.servers`` of the server (empty if it does not say).

    Raises what the server answers; AnalysisProblem ``written-by-query`` for what a query writes, and ``not-described``
    for what the server does not tell all of.
    """
    quoted = name if name.isidentifier() else f"`{name}`"
    try:
        [answer] = client.statements(f"DESCRIBE {quoted};")
    except KsqlError as e:
        e.span = e.sql = None  # the statement is ours, not the user's
        raise
    description = answer["sourceDescription"]
    if description["writeQueries"]:
        hint = "name the stream that the query reads"
        raise AnalysisProblem("written-by-query", f"{description['name']} is written by a query", hint=hint)
    types, properties = client.statements("SHOW TYPES; SHOW PROPERTIES;")
    values = {p["name"]: p["value"] for p in properties["properties"]}
    return _source(description, types["types"]), values.get("bootstrap.servers") or ""


def _source(description: Mapping[str, Any], types: Mapping[str, Any]) -> Source:
    columns = tuple(map(_column, description["fields"]))
    timestamp: str | None = description["timestamp"] or None
    [parsed] = parse(description["statement"])
    if isinstance(parsed.node, nodes.CreateSource) and parsed.node.args.get("query") is None:
        if not parsed.node.args.get("columns"):  # the server has inferred them
            parsed.node.set("columns", _specs(columns, description["type"]))
        catalog = Catalog()
        for name, schema in types.items():
            catalog = catalog.with_type(name, _type(schema))
        made = analyze_create(parsed, catalog, Config.of({}).for_statement(_defaults(description)))
        if made.source.envelope:
            message = f"table {made.source.name} holds change events, which are not invented"
            raise AnalysisProblem("read-only", message, hint="declare a table without VALUE_ENVELOPE")
        return replace(made.source, columns=columns, topic=description["topic"])
    # ALTER has changed it: its statement does not say how it was made.
    if any(c.name == timestamp and c.type == STRING for c in columns):
        raise AnalysisProblem(
            "not-described",
            f"DESCRIBE does not return the TIMESTAMP_FORMAT of {description['name']}",
            hint="give its statements with -f FILE.sql",
        )
    return Source(
        description["name"],
        description["type"],
        description["topic"],
        columns,
        key_spec(description["keyFormat"]),
        ValueSpec(description["valueFormat"]),
        description["statement"],
        timestamp=timestamp,
        window=WindowKey(description["windowType"], None) if description["windowType"] else None,
    )


def _specs(columns: Sequence[Column], kind: str) -> Any:
    """The columns as a statement lists them."""
    mark = "KEY" if kind == "STREAM" else "PRIMARY KEY"
    listed = ", ".join(f"`{c.name.replace('`', '``')}` {c.type} {mark if c.key else ''}" for c in columns)
    [parsed] = parse(f"CREATE {kind} s ({listed});")
    return parsed.node.args["columns"]


def _column(field: Mapping[str, Any]) -> Column:
    kind = field.get("type")
    header = Header(field.get("headerKey")) if kind == "HEADER" else None
    return Column(field["name"], _type(field["schema"]), kind == "KEY", header)


def _defaults(description: Mapping[str, Any]) -> dict[str, object]:
    """The formats in force when the source was made, which its statement need not name."""
    return {
        "ksql.persistence.default.format.key": description["keyFormat"],
        "ksql.persistence.default.format.value": description["valueFormat"],
    }


def _type(schema: Mapping[str, Any]) -> SqlType:
    """A type from the REST API's form of it (ksqlDB, REST API: schema)."""
    match schema["type"]:
        case "ARRAY":
            return ArrayType(_type(schema["memberSchema"]))
        case "MAP":
            return MapType(Scalar("STRING"), _type(schema["memberSchema"]))
        case "STRUCT":
            return StructType(tuple((f["name"], _type(f["schema"])) for f in schema["fields"]))
        case "DECIMAL":
            return DecimalType(int(schema["parameters"]["precision"]), int(schema["parameters"]["scale"]))
        case str(name):
            return Scalar(name)
    raise EngineProblem("bad-answer", f"the server describes a column in a way that is not known: {schema}")
