"""The answers to statements, in the JSON shapes of ksqlDB's REST API (its "entities"; field ``@type``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ksqlpy.catalog import Catalog, Column, Owner, PersistentQuery, Source
from ksqlpy.config import PROPERTIES, Config
from ksqlpy.connection import HIDDEN, hidden
from ksqlpy.functions import Functions
from ksqlpy.functions.signatures import Function
from ksqlpy.plan import Mode, Plan, plan_json, plan_text
from ksqlpy.spark.query_status import QueryStatus
from ksqlpy.types import ArrayType, DecimalType, MapType, SqlType, StructType
from ksqlpy.udfs.definition import Definition

__all__ = [
    "Entity",
    "described_function",
    "entity",
    "fields",
    "functions",
    "listed_grants",
    "listed_roles",
    "listed_sources",
    "listed_topics",
    "listed_types",
    "listed_variables",
    "properties",
    "python_function",
    "status",
    "warning",
]

Entity = dict[str, Any]


def entity(kind: str, statement: str, **fields: Any) -> Entity:
    """An answer of this ``@type``."""
    return {"@type": kind, "statementText": statement, "warnings": [], **fields}


def status(
    statement: str, what: str, message: str, sequence: int, query_id: str | None = None, warnings: Iterable[str] = ()
) -> Entity:
    """``currentStatus``: a change was made. ``what`` is such as ``stream/`RIDES`/create``."""
    return entity(
        "currentStatus",
        statement,
        commandId=what,
        commandStatus={"status": "SUCCESS", "message": message, "queryId": query_id},
        commandSequenceNumber=sequence,
        warnings=[{"message": w} for w in warnings],
    )


def warning(statement: str, message: str) -> Entity:
    """``warning_entity``: nothing was to be done, as with IF NOT EXISTS."""
    return entity("warning_entity", statement, message=message)


def listed_sources(statement: str, kind: str, catalog: Catalog) -> Entity:
    """``streams`` or ``tables``."""
    listed = [
        {
            "type": s.kind,
            "name": s.name,
            "topic": s.topic,
            "keyFormat": s.key.format,
            "valueFormat": s.value.format,
            "isWindowed": s.window is not None,
        }
        for s in sorted(catalog.sources.values(), key=lambda s: s.name)
        if s.kind == kind
    ]
    name = f"{kind.lower()}s"
    return entity(name, statement, **{name: listed})


def schema(t: SqlType) -> Entity:
    """A type as the ``schema`` field of REST entities."""
    fields = None
    member = None
    parameters: Entity = {}
    if isinstance(t, StructType):
        fields = [{"name": n, "schema": schema(f)} for n, f in t.fields]
    elif isinstance(t, ArrayType):
        member = schema(t.item)
    elif isinstance(t, MapType):
        member = schema(t.value)
    elif isinstance(t, DecimalType):
        parameters = {"precision": t.precision, "scale": t.scale}
    shown: Entity = {"type": t.base, "fields": fields, "memberSchema": member}
    return {**shown, "parameters": parameters} if parameters else shown


def fields(columns: Iterable[Column]) -> list[Entity]:
    """Columns as the ``fields`` of REST entities."""
    return [{"name": c.name, "schema": schema(c.type), **_mark(c)} for c in columns]


def _mark(column: Column) -> Entity:
    if column.key:
        return {"type": "KEY"}
    if column.header is None:
        return {}
    return {"type": "HEADER", **({"headerKey": column.header.key} if column.header.key is not None else {})}


def source_description(
    source: Source,
    catalog: Catalog,
    query_status: Callable[[str], QueryStatus],
    extended: Mapping[str, Any] | None = None,
) -> Entity:
    """The ``sourceDescription`` of a source; ``query_status``: of a query; ``extended``: figures of EXTENDED."""
    return {
        "name": source.name,
        "windowType": source.window.kind if source.window is not None else None,
        "readQueries": [
            query_summary(catalog.queries[q], query_status(q), catalog) for q in catalog.readers(source.name)
        ],
        "writeQueries": [
            query_summary(catalog.queries[q], query_status(q), catalog) for q in catalog.writers(source.name)
        ],
        "fields": fields(source.columns),
        "type": source.kind,
        "timestamp": source.timestamp or "",
        "statistics": "",
        "errorStats": "",
        "extended": extended is not None,
        "keyFormat": source.key.format,
        "valueFormat": source.value.format,
        "topic": source.topic,
        "partitions": 0,
        "replication": 0,
        "statement": source.statement,
        "queryOffsetSummaries": [],
        "sourceConstraints": [],
        "clusterStatistics": [],
        "clusterErrorStats": [],
        **(extended or {}),
    }


def query_summary(
    query: PersistentQuery, query_status: QueryStatus, catalog: Catalog, errors: Iterable[Mapping[str, Any]] = ()
) -> Entity:
    """One line of SHOW QUERIES; ``errors``: the last failures of the query."""
    sink = catalog.sources.get(query.sink)
    topics = [sink.topic] if sink is not None else []
    return summary(query.id, query.statement, query_status, errors, "PERSISTENT", [query.sink], topics, query.owner)


def summary(
    query_id: str,
    statement: str,
    query_status: QueryStatus,
    errors: Iterable[Mapping[str, Any]],
    kind: str = "PUSH",
    sinks: Iterable[str] = (),
    topics: Iterable[str] = (),
    owner: Owner | None = None,
) -> Entity:
    """One line of SHOW QUERIES, of a push query or another; ``owner``: who made it, if somebody was asked for a name.

    ``state`` is ours, ``statusCount`` has ksqlDB's names, since its clients know no others.
    """
    return {
        "queryString": statement,
        "sinks": list(sinks),
        "sinkKafkaTopics": list(topics),
        "id": query_id,
        "statusCount": {query_status.client_status: 1},
        "queryType": kind,
        "state": query_status.state,
        **query_status.told(),
        **({"owner": owner.name} if owner is not None else {}),
        "queryErrors": list(errors),
    }


def query_description(
    query_id: str,
    text: str,
    plan: Plan | None,
    mode: Mode | None,
    sources: list[str],
    sinks: list[str],
    query_status: QueryStatus | None = None,
    properties: Mapping[str, object] | None = None,
    figures: Entity | None = None,
    owner: Owner | None = None,
) -> Entity:
    """The ``queryDescription`` of a query, with its figures, or of a statement that is not run; it may have no plan."""
    columns = (
        [Column(o.name, o.expr.type, o.key) for o in plan.root.outputs if not o.header] if plan is not None else []
    )
    topology = plan_text(plan, mode) if plan is not None and mode is not None else ""
    return {
        "id": query_id,
        "statementText": text,
        "windowType": None,
        "fields": fields(columns),
        "sources": sources,
        "sinks": sinks,
        "topology": topology,
        "executionPlan": topology,
        "plan": plan_json(plan, mode) if plan is not None and mode is not None else None,
        "overriddenProperties": dict(properties or {}),
        "ksqlHostQueryStatus": {"local": query_status.client_status} if query_status is not None else {},
        "queryType": "PERSISTENT" if sinks else "PUSH",
        "queryErrors": figures["errors"] if figures is not None else [],
        "tasksMetadata": [],
        "consumerGroupId": None,
        "state": query_status.state if query_status is not None else None,
        **(query_status.told() if query_status is not None else {}),
        **({"owner": owner.name} if owner is not None else {}),
        **({"figures": figures} if figures is not None else {}),
    }


def pull_description(text: str, columns: list[Column], sources: list[str], way: str) -> Entity:
    """The ``queryDescription`` of a pull query; ``way``: how it is answered."""
    told = {"fields": fields(columns), "topology": way, "executionPlan": way, "queryType": "PULL"}
    return {**query_description("", text, None, None, sources, []), **told}


def listed_topics(statement: str, topics: Mapping[str, list[int]]) -> Entity:
    """``kafka_topics``: names with the replicas of each partition."""
    return entity("kafka_topics", statement, topics=[{"name": n, "replicaInfo": r} for n, r in topics.items()])


def listed_types(statement: str, types: Mapping[str, SqlType]) -> Entity:
    """``type_list``: the types of CREATE TYPE with what they stand for."""
    return entity("type_list", statement, types={n: schema(t) for n, t in sorted(types.items())})


def listed_roles(statement: str, roles: Iterable[tuple[str, bool]]) -> Entity:
    """``roles``: their names, and whether they are built in."""
    return entity("roles", statement, roles=[{"name": n, "builtIn": built_in} for n, built_in in roles])


def listed_grants(statement: str, grants: Iterable[tuple[str, list[str], str]]) -> Entity:
    """``grants``: role, rights, and what they are on, as GRANT names it."""
    return entity("grants", statement, grants=[{"role": r, "rights": rights, "on": on} for r, rights, on in grants])


def listed_variables(statement: str, variables: Mapping[str, str]) -> Entity:
    """``variables`` of the session."""
    return entity("variables", statement, variables=[{"name": n, "value": v} for n, v in sorted(variables.items())])


def properties(statement: str, config: Config, overrides: Mapping[str, object]) -> Entity:
    """``properties``: all of them with the value in force, then the settings of Kafka's clients, without secrets."""

    def listed(name: str, value: object, help: str, *, editable: bool) -> Entity:
        level = "SESSION" if editable else "SERVER"
        told = {"name": name, "scope": "KSQL", "value": value, "editable": editable}
        return {**told, "level": level, "description": help}

    found = [
        listed(p.name, HIDDEN if p.secret and config.get(p.name) else config.get(p.name), p.help, editable=p.session)
        for p in PROPERTIES.values()
    ]
    for name, value in sorted(config.clients.items()):
        found.append(listed(name, hidden(name, value), "Setting of Kafka's clients.", editable=False))
    defaults = [p.name for p in PROPERTIES.values() if not config.is_set(p.name)]
    return entity(
        "properties", statement, properties=found, overwrittenProperties=sorted(overrides), defaultProperties=defaults
    )


def functions(statement: str, known: Functions) -> Entity:
    """``function_names``."""
    listed = [{"name": f.name, "type": f.kind, "category": f.category} for f in known.functions.values()]
    return entity("function_names", statement, functions=listed)


def described_function(statement: str, function: Function, python: Entity | None = None) -> Entity:
    """``describe_function``: every overload with its types; ``python``: what there is to say of one in Python."""
    overloads = [
        {
            "arguments": [
                {
                    "name": s.names[i] if i < len(s.names) else "",
                    "type": str(p),
                    "description": "",
                    "isVariadic": i == s.repeated_at,
                }
                for i, p in enumerate(s.parameters)
            ],
            "returnType": "as the arguments" if callable(s.returns) else str(s.returns),
            "description": function.help,
        }
        for s in function.signatures
    ]
    return entity(
        "describe_function",
        statement,
        name=function.name,
        description=function.help,
        author="ksqlpy" if python is None else "",
        version="",
        path="internal" if python is None else "python",
        functions=overloads,
        type=function.kind,
        example=function.example,
        **({} if python is None else {"python": python}),
    )


def python_function(definition: Definition, queries: Iterable[str], *, source: bool) -> Entity:
    """What DESCRIBE FUNCTION tells of a function in Python; ``source``: with its code. ``queries``: that call it."""
    code: Entity = {"source": definition.body} if definition.body else {"callable": definition.callable}
    told = definition.to_json()
    if not source:
        del told["body"], told["callable"]
    return {
        "deterministic": definition.deterministic,
        "onError": definition.on_error,
        "timeoutMs": definition.timeout_ms,
        "stateType": None if definition.state is None else str(definition.state),
        "hash": definition.hash,
        **(code if source else {}),
        "queries": list(queries),
        "definition": told,
    }
