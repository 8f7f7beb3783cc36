"""A source as a server describes it, and where its records go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ksqlpy.analysis import CreateAs, analyze_create
from ksqlpy.catalog import Catalog, Column, Source
from ksqlpy.client import Client
from ksqlpy.config import Config
from ksqlpy.errors import AnalysisProblem, EngineProblem
from ksqlpy.sql import nodes, parse
from ksqlpy.types import ArrayType, DecimalType, MapType, Scalar, SqlType, StructType

__all__ = ["described"]


def described(client: Client, name: str) -> tuple[Source, str]:
    """The source, and the ``bootstrap.servers`` of the server (empty if it does not say).

    Raises what the server answers, and AnalysisProblem ``written-by-query`` for what a query writes.
    """
    quoted = name if name.isidentifier() else f"`{name}`"
    answers = {e["@type"]: e for e in client.statements(f"DESCRIBE {quoted}; SHOW TYPES; SHOW PROPERTIES;")}
    description = answers["sourceDescription"]["sourceDescription"]
    catalog = Catalog()
    for type_name, schema in answers["type_list"]["types"].items():
        catalog = catalog.with_type(type_name, _type(schema))
    [parsed] = parse(description["statement"])
    made = None
    if isinstance(parsed.node, nodes.CreateSource) and parsed.node.args.get("query") is None:
        made = analyze_create(parsed, catalog, Config.of({}).for_statement(_defaults(description)))
    if made is None or isinstance(made, CreateAs):
        hint = "name the stream that the query reads"
        raise AnalysisProblem("written-by-query", f"{description['name']} is written by a query", hint=hint)
    # ALTER may have added columns since.
    known = {c.name: c for c in made.source.columns}
    columns = tuple(
        known.get(f["name"]) or Column(f["name"], _type(f["schema"]), f.get("type") == "KEY")
        for f in description["fields"]
    )
    properties = {p["name"]: p["value"] for p in answers["properties"]["properties"]}
    return replace(made.source, columns=columns, topic=description["topic"]), properties.get("bootstrap.servers") or ""


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
