"""What a server has: sources, queries, types and functions, read with statements that every ksqlDB server answers.

They are SHOW STREAMS, TABLES, QUERIES, TYPES, TOPICS, PROPERTIES and FUNCTIONS, then a DESCRIBE of each source, and of
each function in Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlglot import exp

from ksqlpy.catalog import Column, Header
from ksqlpy.config import PROPERTIES, Config
from ksqlpy.errors import ConfigProblem
from ksqlpy.functions.python import PYTHON
from ksqlpy.sql import to_sql
from ksqlpy.types import STRING, ArrayType, DecimalType, MapType, Scalar, SqlType, StructType
from ksqlpy.udfs.definition import Definition

__all__ = ["Server", "ServerFunction", "ServerQuery", "ServerSource", "State", "quoted", "read_state"]


class Server(Protocol):
    """What runs statements; :class:`ksqlpy.client.Client` is one."""

    def statements(
        self, sql: str, properties: Mapping[str, object] | None = None, variables: Mapping[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """Runs statements and gives their entities; raises KsqlError."""
        ...


@dataclass(frozen=True)
class ServerSource:
    """A stream or table as DESCRIBE tells of it; ``writers``, ``readers``: ids of queries."""

    name: str
    kind: str
    statement: str
    topic: str
    key_format: str
    value_format: str
    timestamp: str | None
    window: str | None
    columns: tuple[Column, ...]
    writers: tuple[str, ...]
    readers: tuple[str, ...]


@dataclass(frozen=True)
class ServerQuery:
    """A persistent query."""

    id: str
    statement: str
    sink: str


@dataclass(frozen=True)
class ServerFunction:
    """A function in Python; of one whose source the server does not show, ``hash`` alone tells what it is.

    ``definition``: without source it has neither a body nor a callable.
    """

    definition: Definition
    hash: str

    def is_as(self, other: Definition) -> bool:
        """Whether it is the same."""
        own, told = self.definition, ("help", "timeout_ms", "deterministic")
        return self.hash == other.hash and all(getattr(own, key) == getattr(other, key) for key in told)


@dataclass
class State:
    """All of it, by name or id.

    ``topics``: with their partitions; ``config``: the properties of the server, as far as they are known here.
    """

    sources: dict[str, ServerSource] = field(default_factory=dict)
    queries: dict[str, ServerQuery] = field(default_factory=dict)
    types: dict[str, SqlType] = field(default_factory=dict)
    functions: dict[str, ServerFunction] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)
    config: Config = field(default_factory=lambda: Config.of({}))


def quoted(name: str) -> str:
    """A name as it is written in SQL."""
    return to_sql(exp.Identifier(this=name, quoted=True))


_ASKED = "SHOW STREAMS; SHOW TABLES; SHOW QUERIES; SHOW TYPES; SHOW TOPICS; SHOW PROPERTIES; SHOW FUNCTIONS;"


def read_state(server: Server) -> State:
    """Asks the server; raises KsqlError."""
    state = State()
    names: list[str] = []
    functions: list[str] = []
    properties: dict[str, str] = {}
    for entity in server.statements(_ASKED):
        match entity:
            case {"streams": listed} | {"tables": listed}:
                names += [s["name"] for s in listed]
            case {"queries": listed}:
                for q in listed:
                    # Those of CREATE SOURCE TABLE belong to their table.
                    if q.get("queryType", "PERSISTENT") == "PERSISTENT" and not q["id"].startswith("CST_"):
                        state.queries[q["id"]] = ServerQuery(q["id"], q["queryString"], next(iter(q["sinks"]), ""))
            case {"types": types}:
                state.types = {n: _type(t) for n, t in types.items()}
            case {"topics": listed}:
                state.topics = {t["name"]: len(t["replicaInfo"]) for t in listed}
            case {"properties": listed}:
                properties = {p["name"]: p["value"] for p in listed if _known(p)}
            case {"@type": "function_names", "functions": listed}:
                functions = [f["name"] for f in listed if f.get("category") == PYTHON]
    state.config = _config(properties)
    if names:
        for entity in server.statements(" ".join(f"DESCRIBE {quoted(n)};" for n in names)):
            source = _source(entity["sourceDescription"])
            state.sources[source.name] = source
    if functions:
        for entity in server.statements(" ".join(f"DESCRIBE FUNCTION {quoted(n)};" for n in functions)):
            told = entity["python"]
            hidden = {"body": "", "callable": ""}
            definition = Definition.from_json({**hidden, **told["definition"]})
            state.functions[definition.name] = ServerFunction(definition, told["hash"])
    return state


def _known(listed: Mapping[str, Any]) -> bool:
    return listed["name"] in PROPERTIES and listed["name"].startswith("ksql.") and listed.get("value") is not None


def _config(properties: Mapping[str, str]) -> Config:
    """Those properties whose values are known here; a real ksqlDB may have others."""
    kept: dict[str, object] = {}
    for name, value in properties.items():
        try:
            Config.of({name: value})
        except ConfigProblem:
            continue
        if value != PROPERTIES[name].default:
            kept[name] = value
    return Config.of(kept)


def _source(d: Mapping[str, Any]) -> ServerSource:
    return ServerSource(
        d["name"],
        d["type"],
        d["statement"],
        d["topic"],
        d["keyFormat"],
        d["valueFormat"],
        d["timestamp"] or None,
        d["windowType"],
        tuple(_column(f) for f in d["fields"]),
        _ids(d["writeQueries"]),
        _ids(d["readQueries"]),
    )


def _ids(queries: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(q["id"] for q in queries)


def _column(f: Mapping[str, Any]) -> Column:
    header = Header(f.get("headerKey")) if f.get("type") == "HEADER" else None
    return Column(f["name"], _type(f["schema"]), key=f.get("type") == "KEY", header=header)


def _type(schema: Mapping[str, Any]) -> SqlType:
    match schema:
        case {"type": "DECIMAL", "parameters": {"precision": p, "scale": s}}:
            return DecimalType(int(p), int(s))
        case {"type": "ARRAY", "memberSchema": item}:
            return ArrayType(_type(item))
        case {"type": "MAP", "memberSchema": value}:
            return MapType(STRING, _type(value))
        case {"type": "STRUCT", "fields": fields}:
            return StructType(tuple((f["name"], _type(f["schema"])) for f in fields or ()))
    return Scalar(schema["type"])
