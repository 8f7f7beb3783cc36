"""What each statement does: one function a statement to check it, one to run it.

``check`` works on a sandbox, a copy of the catalog that statements of one request change in turn, and touches nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from ksqlpy.analysis import CreateAs, Text, analyze_create, analyze_insert, analyze_query, check_clauses, find_source
from ksqlpy.analysis.query import TypedQuery
from ksqlpy.catalog import Catalog, Source
from ksqlpy.config import Config
from ksqlpy.errors import EngineProblem, KsqlError, StatementError, similar_names
from ksqlpy.functions import FUNCTIONS
from ksqlpy.plan import build_plan
from ksqlpy.runtime import entities
from ksqlpy.spark.check import check_plan
from ksqlpy.spark.evaluate import record_of
from ksqlpy.spark.kafka import TIMEOUT
from ksqlpy.sql import Parsed, nodes, to_sql

if TYPE_CHECKING:
    from ksqlpy.runtime.engine import Engine

__all__ = ["Context", "Sandbox", "check", "run"]

Entity = dict[str, Any]


@dataclass
class Sandbox:
    """What the statements of a request would have changed so far."""

    engine: Engine
    catalog: Catalog
    overrides: dict[str, object]
    topics: dict[str, int] = field(default_factory=dict)

    @property
    def config(self) -> Config:
        """The properties in force."""
        return self.engine.config.for_statement(self.overrides)


@dataclass
class Context:
    """The engine, and the session properties as SET changes them."""

    engine: Engine
    overrides: dict[str, object]

    @property
    def config(self) -> Config:
        """The properties in force."""
        return self.engine.config.for_statement(self.overrides)


def check(parsed: Parsed, sandbox: Sandbox) -> None:
    """Refuses a statement that cannot be done; raises KsqlError."""
    kind, text = type(parsed.node), Text(parsed.sql)
    check_clauses(parsed.node, text)
    handler = _CHECKS.get(kind)
    if handler is not None:
        handler(parsed, sandbox)
    elif kind not in _RUNS:
        name = " ".join(to_sql(parsed.node).split()[:2])
        text.refuse("unsupported-statement", f"{name} is not run by this server", parsed.node, hint=_RUNNABLE)


def run(parsed: Parsed, context: Context) -> Entity | None:
    """Does a checked statement; returns its entity if it has one. Raises KsqlError."""
    return _RUNS[type(parsed.node)](parsed, context)


# ---------------------------------------------------------------- CREATE


def _existing(parsed: Parsed, catalog: Catalog) -> Source | None:
    """The source that has the name already; refused unless the statement says IF NOT EXISTS."""
    existing = catalog.sources.get(parsed.node.this.this)
    if existing is not None and not parsed.node.args.get("exists"):
        Text(parsed.sql).refuse(
            "already-exists",
            f"{existing.kind.lower()} {existing.name} exists already",
            parsed.node.this,
            hint="choose another name, DROP it first, or write IF NOT EXISTS",
        )
    return existing


def _check_create(parsed: Parsed, sandbox: Sandbox) -> None:
    text = Text(parsed.sql)
    if _existing(parsed, sandbox.catalog) is not None:
        return
    made = analyze_create(parsed, sandbox.catalog, sandbox.config)
    try:
        if isinstance(made, CreateAs):
            plan = build_plan(made.query)
            check_plan(plan)
            topics = [s.relation.source.topic for s in plan.scans]
            sandbox.engine.topics.partitions([t for t in topics if t not in sandbox.topics])
            have = sandbox.engine.topics.check(made.topic, sandbox.topics, declared=False)
            sandbox.topics[made.topic.name] = have or 1
        else:
            have = sandbox.engine.topics.check(made.topic, sandbox.topics, declared=True)
            sandbox.topics[made.topic.name] = have or 1
    except StatementError as e:
        e.span, e.sql = e.span or text.span(parsed.node.this), parsed.sql
        raise
    sandbox.catalog = sandbox.catalog.with_source(made.source)


def _create(parsed: Parsed, context: Context) -> Entity:
    engine, kind = context.engine, parsed.node.args["kind"]
    existing = _existing(parsed, engine.catalog)
    if existing is not None:
        return entities.warning(parsed.text, f"{existing.kind.lower()} {existing.name} exists already, nothing is done")
    made = analyze_create(parsed, engine.catalog, context.config)
    sequence, query_id = engine.create(made, context.overrides)
    message = f"Created query with ID {query_id}" if query_id is not None else f"{kind.capitalize()} created"
    what = f"{kind.lower()}/`{made.source.name}`/create"
    warnings = []
    if isinstance(made, CreateAs) and context.config.get("processing.guarantee") == "exactly_once":
        warnings.append(engine.topics.sink_warning(made, context.config.number("commit.interval.ms")))
    return entities.status(parsed.text, what, message, sequence, query_id, filter(None, warnings))


# ---------------------------------------------------------------- INSERT


def _check_insert(parsed: Parsed, sandbox: Sandbox) -> None:
    analyze_insert(parsed, sandbox.catalog)


def _insert(parsed: Parsed, context: Context) -> None:
    engine = context.engine
    insert = analyze_insert(parsed, engine.catalog)
    key, value, time = record_of(engine.session, insert)
    done: list[Any] = []
    options: dict[str, Any] = {} if time is None else {"timestamp": time}
    engine.producer.produce(
        insert.source.topic, key=key, value=value, on_delivery=lambda e, m: done.append(e), **options
    )
    engine.producer.flush(TIMEOUT)
    if not done or done[0] is not None:
        reason = done[0] if done else "the brokers do not answer"
        raise EngineProblem("not-inserted", f"the record was not written to topic {insert.source.topic}: {reason}")


# ---------------------------------------------------------------- DROP, TERMINATE


def _dropped(parsed: Parsed, catalog: Catalog) -> Source | None:
    node, text = parsed.node, Text(parsed.sql)
    if node.args.get("exists") and node.this.this not in catalog.sources:
        return None
    source = find_source(catalog, node.this, text)
    if source.kind != node.args["kind"]:
        text.refuse("wrong-kind", f"{source.name} is a {source.kind.lower()}", node.this, hint=f"DROP {source.kind} …")
    readers = catalog.readers(source.name)
    writers = tuple(q for q in catalog.writers(source.name) if q != source.query)
    if readers or writers:
        users = ", ".join((*readers, *writers))
        text.refuse(
            "in-use", f"{source.name} is used by the queries {users}", node.this, hint="TERMINATE or DROP them first"
        )
    return source


def _check_drop(parsed: Parsed, sandbox: Sandbox) -> None:
    source = _dropped(parsed, sandbox.catalog)
    if source is not None:
        sandbox.catalog = sandbox.catalog.without_source(source.name)
        if source.query is not None:
            sandbox.catalog = sandbox.catalog.without_query(source.query)


def _drop(parsed: Parsed, context: Context) -> Entity:
    source = _dropped(parsed, context.engine.catalog)
    if source is None:
        return entities.warning(parsed.text, f"there is no source {parsed.node.this.this}, nothing is done")
    sequence = context.engine.drop(source, delete_topic=bool(parsed.node.args.get("delete_topic")))
    what = f"{source.kind.lower()}/`{source.name}`/drop"
    return entities.status(parsed.text, what, f"Source `{source.name}` was dropped.", sequence)


def _which(parsed: Parsed, catalog: Catalog) -> list[str]:
    if parsed.node.args.get("all"):
        return list(catalog.queries)
    query_id = parsed.node.this.this
    if query_id not in catalog.queries:
        Text(parsed.sql).refuse(
            "unknown-query",
            f"there is no query {query_id}",
            parsed.node.this,
            similar=similar_names(query_id, catalog.queries),
            hint="SHOW QUERIES lists them",
        )
    return [query_id]


def _check_terminate(parsed: Parsed, sandbox: Sandbox) -> None:
    if parsed.node.args.get("all") or parsed.node.this.this not in sandbox.engine.open_push_queries:
        for query_id in _which(parsed, sandbox.catalog):
            sandbox.catalog = sandbox.catalog.without_query(query_id)


def _terminate(parsed: Parsed, context: Context) -> Entity:
    engine = context.engine
    if not parsed.node.args.get("all") and parsed.node.this.this in engine.open_push_queries:
        query_id = parsed.node.this.this
        closed = engine.close_query(query_id)
        return {
            "@type": "terminate_query",
            "statementText": parsed.text,
            "queryId": query_id,
            "wasTerminated": closed,
            "warnings": [],
        }
    sequence = engine.log.next_offset
    ended = _which(parsed, engine.catalog)
    for query_id in ended:
        sequence = engine.terminate(query_id)
    what = f"terminate/{ended[0] if len(ended) == 1 else 'ALL'}/execute"
    return entities.status(parsed.text, what, "Query terminated.", sequence)


def _check_pause(parsed: Parsed, sandbox: Sandbox) -> None:
    _which(parsed, sandbox.catalog)


def _pause(parsed: Parsed, context: Context) -> Entity:
    """PAUSE and RESUME; a query that is in the wanted state already stays as it is."""
    engine, paused = context.engine, isinstance(parsed.node, nodes.Pause)
    sequence = engine.log.next_offset
    which = _which(parsed, engine.catalog)
    for query_id in which:
        sequence = engine.pause(query_id, paused=paused)
    verb = "pause" if paused else "resume"
    what = f"{verb}/{which[0] if len(which) == 1 else 'ALL'}/execute"
    return entities.status(parsed.text, what, f"Query {verb}d.", sequence)


# ---------------------------------------------------------------- SHOW, DESCRIBE, EXPLAIN


def _check_show(parsed: Parsed, sandbox: Sandbox) -> None:
    kind, extended = parsed.node.args["kind"], parsed.node.args.get("extended")
    if kind not in _SHOWN or (extended and not _SHOWN[kind]):
        what = f"SHOW {kind}{' EXTENDED' if kind in _SHOWN else ''}"
        hint = f"SHOW lists {', '.join(_SHOWN)}"
        Text(parsed.sql).refuse("unsupported-statement", f"{what} is not run by this server", parsed.node, hint=hint)


def _show(parsed: Parsed, context: Context) -> Entity:
    engine, node, text = context.engine, parsed.node, parsed.text
    kind, extended = node.args["kind"], node.args.get("extended")
    catalog = engine.catalog
    if kind in ("STREAMS", "TABLES"):
        if not extended:
            return entities.listed_sources(text, kind.removesuffix("S"), catalog)
        of_kind = [s for s in catalog.sources.values() if s.kind == kind.removesuffix("S")]
        return entities.described_all(text, [_description(s, context, extended=True) for s in of_kind])
    if kind == "QUERIES":
        if extended:
            return entities.described_queries(text, [_query_description(q, context) for q in catalog.queries])
        summaries = [
            entities.query_summary(q, engine.state(q.id), catalog, _errors(q.id, context))
            for q in catalog.queries.values()
        ]
        return entities.listed_queries(text, summaries)
    if kind == "TOPICS":
        return entities.listed_topics(text, engine.topics.listed(hidden=bool(node.args.get("all"))))
    if kind == "PROPERTIES":
        return entities.properties(text, context.config, context.overrides)
    return entities.functions(text)


def _description(source: Source, context: Context, *, extended: bool) -> Entity:
    engine = context.engine
    if not extended:
        return entities.source_description(source, engine.catalog, engine.state)
    replicas = engine.topics.listed(hidden=True).get(source.topic, [])
    figures = []
    for query_id in (*engine.catalog.writers(source.name), *engine.catalog.readers(source.name)):
        figures.append({"queryId": query_id, **_figures(query_id, context)})
    dead = sum(f["deadLetters"] for f in figures)
    return entities.source_description(
        source,
        engine.catalog,
        engine.state,
        {
            "partitions": len(replicas),
            "replication": replicas[0] if replicas else 0,
            "statistics": "; ".join(
                f"{f['queryId']}: {f['state']}, rows in {f['rowsIn']}, rows out {f['rowsOut']}, lag {f['lag']}"
                for f in figures
            ),
            "errorStats": "; ".join(
                [f"dead letters: {dead}"]
                + [f"{f['queryId']}: {e['type']}: {e['errorMessage']}" for f in figures for e in f["errors"][-1:]]
            ),
            "deadLetters": dead,
            "deadLetterTopic": engine.topics.dead_letters,
            "queryFigures": figures,
        },
    )


def _errors(query_id: str, context: Context) -> list[Entity]:
    """The last failures of a query, oldest first: USER, SYSTEM or UNKNOWN."""
    running = context.engine.queries.get(query_id)
    failures = running.failures if running is not None else ()
    return [{"timestamp": int(f.at * 1000), "errorMessage": f.message, "type": f.kind} for f in failures]


def _figures(query_id: str, context: Context) -> Entity:
    """Rows in, out and late since the start of the server, lag, dead letters, mode, errors, and the last checkpoint."""
    engine = context.engine
    counts = engine.queries.figures(query_id)
    dead_topic = engine.topics.dead_letters
    running = engine.queries.get(query_id)
    return {
        "state": engine.state(query_id),
        "error": running.error if running is not None else None,
        "errors": _errors(query_id, context),
        "live": running is not None and running.live.is_set(),
        "mode": running.phase.value if running is not None and running.state == "RUNNING" else None,
        "rowsIn": sum(counts["consumed"].values()),
        "rowsOut": sum(n for t, n in counts["sent"].items() if t != dead_topic),
        "lag": counts["lag"],
        "lateRows": counts["late"],
        **(running.progress() if running is not None else {}),
        "deadLetters": engine.dead_letters.count(query_id),
        "lastDeadLetter": engine.dead_letters.last_reason(query_id),
    }


def _describe(parsed: Parsed, context: Context) -> Entity:
    source = find_source(context.engine.catalog, parsed.node.this, Text(parsed.sql))
    extended = bool(parsed.node.args.get("extended"))
    return entities.described_source(parsed.text, _description(source, context, extended=extended))


def _check_describe(parsed: Parsed, sandbox: Sandbox) -> None:
    find_source(sandbox.catalog, parsed.node.this, Text(parsed.sql))


def _describe_function(parsed: Parsed, context: Context) -> Entity:
    text = Text(parsed.sql)
    function = FUNCTIONS.get(parsed.node.this.this, text.span(parsed.node.this), parsed.sql)
    return entities.described_function(parsed.text, function)


def _query_description(query_id: str, context: Context) -> Entity:
    engine = context.engine
    query = engine.catalog.queries[query_id]
    figures = _figures(query_id, context)
    return entities.query_description(
        query_id,
        query.statement,
        engine.plan_of(query_id),
        list(query.sources),
        [query.sink],
        figures["state"],
        overriddenProperties=dict(query.properties),
        queryErrors=figures["errors"],
        figures=figures,
    )


def _explained(parsed: Parsed, catalog: Catalog, config: Config) -> tuple[str, TypedQuery, list[str]] | str:
    """The id of the query to explain, or what the statement would run."""
    node, text = parsed.node, Text(parsed.sql)
    statement = node.args.get("statement")
    if statement is None:
        query_id: str = node.this.this
        if query_id not in catalog.queries:
            text.refuse(
                "unknown-query",
                f"there is no query {query_id}",
                node.this,
                similar=similar_names(query_id, catalog.queries),
                hint="SHOW QUERIES lists them",
            )
        return query_id
    if isinstance(statement, nodes.CreateSource):
        made = analyze_create(Parsed(statement, parsed.text, parsed.sql, parsed.start), catalog, config)
        if not isinstance(made, CreateAs):
            text.refuse("not-a-query", "this statement has no query to explain", statement)
        return made.source.name, made.query, [made.source.name]
    return "", analyze_query(statement, catalog, text, persistent=False), []


def _check_explain(parsed: Parsed, sandbox: Sandbox) -> None:
    _explained(parsed, sandbox.catalog, sandbox.config)


def _explain(parsed: Parsed, context: Context) -> Entity:
    found = _explained(parsed, context.engine.catalog, context.config)
    if isinstance(found, str):
        return entities.described_query(parsed.text, _query_description(found, context))
    name, query, sinks = found
    sources = [r.source.name for r in query.relations]
    description = entities.query_description(name, parsed.text, build_plan(query), sources, sinks, None)
    return entities.described_query(parsed.text, description)


# ---------------------------------------------------------------- SET, queries


def _set(parsed: Parsed, context: Context | Sandbox) -> None:
    key, value = parsed.node.this.this, parsed.node.expression.this
    try:
        context.engine.config.for_statement({key: value})
    except KsqlError as e:
        e.span, e.sql = Text(parsed.sql).span(parsed.node), parsed.sql
        raise
    context.overrides[key] = value


def _unset(parsed: Parsed, context: Context | Sandbox) -> None:
    context.overrides.pop(parsed.node.this.this, None)


def _query(parsed: Parsed, sandbox: Sandbox) -> None:
    raise StatementError(
        "query-not-here",
        "a SELECT gives rows and is sent to /query-stream",
        span=Text(parsed.sql).span(parsed.node),
        sql=parsed.sql,
        error_code=40002,
    )


_SHOWN = {
    "STREAMS": True,
    "TABLES": True,
    "QUERIES": True,
    "TOPICS": False,
    "PROPERTIES": False,
    "FUNCTIONS": False,
}
"""What SHOW gives, and whether EXTENDED is more of it."""

_RUNNABLE = "it runs CREATE, INSERT, DROP, TERMINATE, PAUSE, RESUME, SHOW, DESCRIBE, EXPLAIN, SET, UNSET and SELECT"

_CHECKS: dict[type[exp.Expr], Callable[[Parsed, Sandbox], None]] = {
    nodes.CreateSource: _check_create,
    nodes.InsertValues: _check_insert,
    nodes.DropSource: _check_drop,
    nodes.Terminate: _check_terminate,
    nodes.Pause: _check_pause,
    nodes.Resume: _check_pause,
    nodes.Show: _check_show,
    nodes.DescribeSource: _check_describe,
    nodes.DescribeFunction: lambda p, s: _check_function(p),
    nodes.Explain: _check_explain,
    nodes.SetProperty: _set,
    nodes.UnsetProperty: _unset,
    nodes.Query: _query,
}


def _check_function(parsed: Parsed) -> None:
    FUNCTIONS.get(parsed.node.this.this, Text(parsed.sql).span(parsed.node.this), parsed.sql)


_RUNS: dict[type[exp.Expr], Callable[[Parsed, Context], Entity | None]] = {
    nodes.CreateSource: _create,
    nodes.InsertValues: _insert,
    nodes.DropSource: _drop,
    nodes.Terminate: _terminate,
    nodes.Pause: _pause,
    nodes.Resume: _pause,
    nodes.Show: _show,
    nodes.DescribeSource: _describe,
    nodes.DescribeFunction: _describe_function,
    nodes.Explain: _explain,
    nodes.SetProperty: _set,
    nodes.UnsetProperty: _unset,
}
