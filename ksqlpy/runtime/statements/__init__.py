"""What each statement does: one function a statement to check it, one to run it.

``check`` works on a sandbox, a copy of the catalog that statements of one request change in turn, and touches nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlglot import exp

from ksqlpy.analysis import (
    CreateAs,
    Text,
    analyze_create,
    analyze_insert_select,
    analyze_query,
    find_source,
)
from ksqlpy.analysis.pull import WAIT, PullRead, analyze_pull, as_stream
from ksqlpy.analysis.result import TypedQuery
from ksqlpy.catalog import Catalog, Column, Source, query_named
from ksqlpy.config import Config
from ksqlpy.errors import AnalysisProblem, EngineProblem, KsqlError, StatementError, similar_names
from ksqlpy.figuretexts import lag_text, latency_text
from ksqlpy.functions import FUNCTIONS
from ksqlpy.plan import Plan, build_plan, mode_of
from ksqlpy.plan.explain import plan_tree
from ksqlpy.reading.pull import columns_of, used_by, way_of
from ksqlpy.reading.push import PLAIN_WAY, plain_of
from ksqlpy.runtime import entities
from ksqlpy.runtime.context import Command, Context, Entity, Sandbox
from ksqlpy.runtime.internal import check_read
from ksqlpy.runtime.schema_checks import assert_schema, check_assert_schema
from ksqlpy.runtime.statements import create as definitions
from ksqlpy.runtime.statements.asserts import assert_topic, check_assert_topic
from ksqlpy.runtime.statements.control import check_skip, skip
from ksqlpy.runtime.statements.insert import check_delete, check_insert, delete, insert
from ksqlpy.spark.check import check_plan
from ksqlpy.spark.standing import State
from ksqlpy.sql import Parsed, nodes, to_sql

if TYPE_CHECKING:
    from ksqlpy.runtime.plainpush import PlainPush
    from ksqlpy.runtime.push import PushQuery

__all__ = ["Context", "Sandbox", "changes", "check", "check_pull", "check_push", "run"]


def check(parsed: Parsed, sandbox: Sandbox) -> Command | None:
    """What a statement has been found to mean, for :func:`run`; refuses one that cannot be done. Raises KsqlError."""
    kind, text = type(parsed.node), Text(parsed.sql)
    handler = _CHECKS.get(kind)
    if handler is not None:
        return handler(parsed, sandbox)
    if kind in (nodes.CreateConnector, nodes.DropConnector, nodes.DescribeConnector):
        text.refuse("unsupported-statement", _NO_CONNECTORS, parsed.node, hint=_CONNECT)
    if kind not in _RUNS:
        name = " ".join(to_sql(parsed.node).split()[:2])
        text.refuse("unsupported-statement", f"{name} is not run by ksqlpy", parsed.node, hint=_RUNNABLE)
    return None


def check_push(parsed: Parsed, sandbox: Sandbox) -> tuple[TypedQuery, Plan]:
    """SELECT … EMIT CHANGES, typed and planned; raises KsqlError."""
    text = Text(parsed.sql, sandbox.catalog.types)
    typed = analyze_query(parsed.node, sandbox.catalog, text, persistent=False, config=sandbox.config)
    plan = build_plan(typed)
    check_plan(plan)
    check_read(plan, sandbox.config, parsed)
    return typed, plan


def check_pull(parsed: Parsed, catalog: Catalog, config: Config) -> tuple[PullRead, Plan]:
    """SELECT without EMIT, typed, with the plan that makes its rows of records; raises KsqlError."""
    read = analyze_pull(parsed.node, catalog, Text(parsed.sql, catalog.types), config)
    plan = build_plan(read.typed if read.access == "HISTORY" else as_stream(read).typed)
    check_plan(plan)
    check_read(plan, config, parsed)
    return read, plan


def check_lookup(parsed: Parsed, catalog: Catalog, config: Config) -> tuple[PullRead, set[str]]:
    """A pull query that waits for nothing, and the columns that it needs; raises KsqlError."""
    if not isinstance(parsed.node, nodes.Query) or parsed.node.args.get("emit") is not None:
        raise EngineProblem("not-a-query", "not a pull query")
    if config.number(WAIT):
        raise EngineProblem("not-a-query", "a pull query that waits")
    read, _ = check_pull(parsed, catalog, config)
    return read, used_by(read)


def run(parsed: Parsed, context: Context) -> Entity | None:
    """Does a checked statement; returns its entity if it has one. Raises KsqlError."""
    return _RUNS[type(parsed.node)](parsed, context)


# ---------------------------------------------------------------- INSERT VALUES, DELETE


# ---------------------------------------------------------------- SHOW, DESCRIBE, EXPLAIN


def _check_show(parsed: Parsed, sandbox: Sandbox) -> None:
    kind, extended = parsed.node.args["kind"], parsed.node.args.get("extended")
    if "CONNECTOR" in kind:
        Text(parsed.sql).refuse("unsupported-statement", _NO_CONNECTORS, parsed.node, hint=_CONNECT)
    if kind not in _SHOWN or (extended and not _SHOWN[kind]):
        what = f"SHOW {kind}{' EXTENDED' if kind in _SHOWN else ''}"
        hint = f"SHOW lists {', '.join(_SHOWN)}"
        Text(parsed.sql).refuse("unsupported-statement", f"{what} is not run by ksqlpy", parsed.node, hint=hint)


def _show(parsed: Parsed, context: Context) -> Entity:
    shown = _shown(parsed, context)
    if parsed.node.args["kind"] in _LOGGED:
        shown["warnings"] = [{"message": text} for text in context.catalog_service.left_out]
    return shown


_LOGGED = ("STREAMS", "TABLES", "QUERIES", "TYPES")
"""What comes from the command log, so that entries of it that are left out may be missing there."""


def _shown(parsed: Parsed, context: Context) -> Entity:
    node, text = parsed.node, parsed.text
    kind, extended = node.args["kind"], node.args.get("extended")
    catalog = context.catalog
    if kind in ("STREAMS", "TABLES"):
        if not extended:
            return entities.listed_sources(text, kind.removesuffix("S"), catalog)
        of_kind = [s for s in catalog.sources.values() if s.kind == kind.removesuffix("S")]
        return entities.described_all(text, [_description(s, context, extended=True) for s in of_kind])
    if kind == "QUERIES":
        if extended:
            described = [_query_description(q, context) for q in catalog.queries]
            described += [_push_description(p, context) for p in context.reads.open]
            return entities.described_queries(text, described)
        summaries = [
            entities.query_summary(q, context.standing(q.id), catalog, _errors(q.id, context))
            for q in catalog.queries.values()
        ]
        summaries += [
            entities.push_summary(p.id, p.asked.statement, p.standing or context.standing(p.id), _errors(p.id, context))
            for p in context.reads.open
        ]
        return entities.listed_queries(text, summaries)
    if kind == "TOPICS":
        return entities.listed_topics(text, context.brokers.topics.listed(hidden=bool(node.args.get("all"))))
    if kind == "TYPES":
        return entities.listed_types(text, catalog.types)
    if kind == "VARIABLES":
        return entities.listed_variables(text, context.variables)
    if kind == "PROPERTIES":
        return entities.properties(text, context.config, context.overrides)
    return entities.functions(text)


def _description(source: Source, context: Context, *, extended: bool) -> Entity:
    if not extended:
        return entities.source_description(source, context.catalog, context.standing)
    replicas = context.brokers.topics.listed(hidden=True).get(source.topic, [])
    figures = []
    for query_id in (*context.catalog.writers(source.name), *context.catalog.readers(source.name)):
        figures.append({"queryId": query_id, **_figures(query_id, context)})
    dead = sum(f["deadLetters"] for f in figures)
    copy = context.reads.copies.standing(source.name)
    copied = f"local copy: about {copy['rows']:,} rows, {copy['lag']:,} records behind" if copy is not None else ""
    return entities.source_description(
        source,
        context.catalog,
        context.standing,
        {
            "partitions": len(replicas),
            "replication": replicas[0] if replicas else 0,
            "localCopy": copy,
            "statistics": "; ".join(
                [
                    f"{f['queryId']}: {_stands(f)}, rows in {f['rowsIn']}, rows out {f['rowsOut']},"
                    f" late rows {f['lateRows']}, lag {lag_text(f['lag'])}{_latency(f)}"
                    for f in figures
                ]
                + [
                    f"{f['queryId']} on executor {id_}: rows in {e['consumed']}, rows out {e['sent']},"
                    f" lag {lag_text(e['lag'])}{_latency(e)}"
                    for f in figures
                    for id_, e in f.get("executors", {}).items()
                ]
                + ([copied] if copied else [])
            ),
            "errorStats": "; ".join(
                [f"dead letters: {dead}"]
                + [f"{f['queryId']}: {f['failedValues']} failed expressions" for f in figures if f["failedValues"]]
                + [f"{f['queryId']}: {e['type']}: {e['errorMessage']}" for f in figures for e in f["errors"][-1:]]
            ),
            "deadLetters": dead,
            "deadLetterTopic": context.brokers.topics.dead_letters,
            "queryFigures": figures,
        },
    )


def _errors(query_id: str, context: Context) -> list[Entity]:
    """The last failures of a query, oldest first: USER, SYSTEM or UNKNOWN."""
    problem = context.catalog.blocked.get(("query", query_id))
    if problem is not None:
        return [{"timestamp": context.services.began_ms, "errorMessage": problem, "type": "USER"}]
    running = context.supervisor.queries.get(query_id)
    failures = running.failures if running is not None else ()
    return [{"timestamp": int(f.at * 1000), "errorMessage": f.message, "type": f.kind} for f in failures]


def _figures(query_id: str, context: Context, plan: Plan | None = None) -> Entity:
    """What a query does: rows in, out and late and values that an error made null, since the start of the server.

    Also state, lag, dead letters, mode, errors, and the last checkpoint.
    """
    standing = context.standing(query_id)
    counts = context.supervisor.queries.figures(query_id)
    blocked = ("query", query_id) in context.catalog.blocked
    late_topic = None if blocked else (plan or context.catalog_service.plan_of(query_id)).late_topic
    aside = (context.brokers.topics.dead_letters, late_topic)
    running = context.supervisor.queries.get(query_id)
    return {
        "state": standing.state,
        **standing.told(),
        "error": running.error if running is not None else None,
        "errors": _errors(query_id, context),
        "live": running is not None and running.live.is_set(),
        "mode": running.doing if running is not None and standing.state is State.RUNNING else None,
        "rowsIn": sum(counts["consumed"].values()),
        "rowsOut": sum(n for t, n in counts["sent"].items() if t not in aside),
        "lag": counts["lag"],
        "waitsFor": counts.get("waiting"),
        "latency": counts["latency"],
        "lateRows": counts["late"],
        "lateTopic": late_topic,
        "failedValues": counts["failed"],
        **({"executors": counts["executors"]} if counts["executors"] else {}),
        **(running.progress() if running is not None else {}),
        "deadLetters": context.brokers.dead_letters.count(query_id),
        "lastDeadLetter": context.brokers.dead_letters.last_reason(query_id),
    }


def _latency(figures: Entity) -> str:
    """The latency in one line of DESCRIBE … EXTENDED."""
    took = figures["latency"]
    return "" if took is None else f", latency {latency_text(took)}"


def _stands(figures: Entity) -> str:
    """A query's state in one line of DESCRIBE … EXTENDED."""
    tries, after = figures["tries"], figures["nextTry"]
    if not tries:
        return str(figures["state"])
    when = "is being made" if after is None else f"at {datetime.fromtimestamp(after / 1000, UTC):%H:%M:%S} UTC"
    return f"{figures['state']} ({tries} failed, next try {when})"


def _describe(parsed: Parsed, context: Context) -> Entity:
    source = find_source(context.catalog, parsed.node.this, Text(parsed.sql))
    extended = bool(parsed.node.args.get("extended"))
    return entities.described_source(parsed.text, _description(source, context, extended=extended))


def _describe_streams(parsed: Parsed, context: Context) -> Entity:
    extended = bool(parsed.node.args.get("extended"))
    streams = [s for s in context.catalog.sources.values() if s.kind == "STREAM"]
    return entities.described_all(parsed.text, [_description(s, context, extended=extended) for s in streams])


def _check_describe(parsed: Parsed, sandbox: Sandbox) -> None:
    find_source(sandbox.catalog, parsed.node.this, Text(parsed.sql))


def _describe_function(parsed: Parsed, context: Context) -> Entity:
    text = Text(parsed.sql)
    function = FUNCTIONS.get(parsed.node.this.this, text.span(parsed.node.this), parsed.sql)
    return entities.described_function(parsed.text, function)


def _push_description(push: PushQuery | PlainPush, context: Context) -> Entity:
    asked, figures = push.asked, _figures(push.id, context, push.asked.plan)
    return entities.query_description(
        push.id,
        asked.statement,
        asked.plan,
        asked.mode,
        asked.sources,
        [],
        push.standing or context.standing(push.id),
        overriddenProperties=dict(asked.properties),
        queryErrors=figures["errors"],
        figures=figures,
    )


def _query_description(query_id: str, context: Context) -> Entity:
    query = context.catalog.queries[query_id]
    plan = mode = None
    if ("query", query_id) not in context.catalog.blocked:
        plan = context.catalog_service.plan_of(query_id)
        mode = mode_of(plan, context.server.for_statement(query.properties))
    figures = _figures(query_id, context)
    return entities.query_description(
        query_id,
        query.statement,
        plan,
        mode,
        list(query.sources),
        [query.sink],
        context.standing(query_id),
        overriddenProperties=dict(query.properties),
        queryErrors=figures["errors"],
        figures=figures,
    )


def _explained(
    parsed: Parsed, catalog: Catalog, config: Config, pushes: tuple[str, ...]
) -> tuple[str, TypedQuery | PullRead, list[str]] | str:
    """The id of the query to explain, or what the statement would run."""
    node, text = parsed.node, Text(parsed.sql, catalog.types)
    statement = node.args.get("statement")
    if statement is None:
        name: str = node.this.this
        query_id = query_named(name, (*catalog.queries, *pushes))
        if query_id is None:
            text.refuse(
                "unknown-query",
                f"there is no query {name}",
                node.this,
                similar=similar_names(name, catalog.queries),
                hint="SHOW QUERIES lists them",
            )
        return query_id
    if isinstance(statement, nodes.CreateSource):
        made = analyze_create(Parsed(statement, parsed.text, parsed.sql, parsed.start), catalog, config)
        if not isinstance(made, CreateAs):
            text.refuse("not-a-query", "this statement has no query to explain", statement)
        return made.source.name, made.query, [made.source.name]
    if isinstance(statement, nodes.InsertSelect):
        into = analyze_insert_select(Parsed(statement, parsed.text, parsed.sql, parsed.start), catalog, config)
        return "", into.query, [into.source.name]
    if isinstance(statement, nodes.Query) and statement.args.get("emit") is None:
        with contextlib.suppress(AnalysisProblem):  # what only a push query can be is explained as one
            return "", analyze_pull(statement, catalog, text, config), []
    return "", analyze_query(statement, catalog, text, persistent=False), []


def _check_explain(parsed: Parsed, sandbox: Sandbox) -> Command | None:
    found = _explained(parsed, sandbox.catalog, sandbox.config, sandbox.engine.open_push_queries)
    if isinstance(found, str):
        return None
    typed = found[1].typed if isinstance(found[1], PullRead) else found[1]
    return Command(found, None, tuple(typed.sources), sandbox.catalog.types)


def _explain(parsed: Parsed, context: Context) -> Entity:
    pushes = {p.id: p for p in context.reads.open}
    checked = context.checked
    found = checked.made if checked else _explained(parsed, context.catalog, context.config, tuple(pushes))
    if isinstance(found, str) and found in pushes:
        return entities.described_query(parsed.text, _push_description(pushes[found], context))
    if isinstance(found, str):
        return entities.described_query(parsed.text, _query_description(found, context))
    name, query, sinks = found
    if isinstance(query, PullRead):
        return entities.described_query(parsed.text, _pull_description(parsed.text, query))
    sources = [s.name for s in query.sources]
    plan = build_plan(query)
    mode = mode_of(plan, context.config)
    description = entities.query_description(name, parsed.text, plan, mode, sources, sinks, None)
    if not sinks and plain_of(query) is not None:
        description["topology"] = description["executionPlan"] = f"{plan_tree(plan)}\n{PLAIN_WAY}"
    return entities.described_query(parsed.text, description)


def _pull_description(text: str, read: PullRead) -> Entity:
    columns = [Column(c.name, c.type, c.key) for c in columns_of(read)]
    return entities.pull_description(text, columns, [read.source.name], way_of(read))


# ---------------------------------------------------------------- SET, queries


def _set(parsed: Parsed, context: Context | Sandbox) -> None:
    key, value = parsed.node.this.this, parsed.node.expression.this
    try:
        context.server.for_statement({key: value})
    except KsqlError as e:
        e.span, e.sql = Text(parsed.sql).span(parsed.node), parsed.sql
        raise
    context.overrides[key] = value


def _unset(parsed: Parsed, context: Context | Sandbox) -> None:
    context.overrides.pop(parsed.node.this.this, None)


def _define(parsed: Parsed, context: Context) -> None:
    # References of this text were replaced when it was parsed; this is for SHOW VARIABLES.
    context.variables[parsed.node.this.this] = parsed.node.expression.this


def _undefine(parsed: Parsed, context: Context) -> None:
    for name in [n for n in context.variables if n.upper() == parsed.node.this.this.upper()]:
        del context.variables[name]


def _query(parsed: Parsed, sandbox: Sandbox) -> None:
    raise StatementError(
        "query-not-here",
        f"{'PRINT gives lines' if isinstance(parsed.node, nodes.Print) else 'a SELECT gives rows'} and is sent to"
        " /query-stream",
        span=Text(parsed.sql).span(parsed.node),
        sql=parsed.sql,
        error_code=40002,
    )


_CHANGES = frozenset(
    {
        nodes.CreateSource,
        nodes.AlterSource,
        nodes.DropSource,
        nodes.InsertSelect,
        nodes.CreateType,
        nodes.DropType,
        nodes.Terminate,
        nodes.Pause,
        nodes.Resume,
        nodes.Skip,
    }
)


def changes(parsed: Parsed) -> bool:
    """Whether the statement changes what exists, so that it is done in its turn."""
    return type(parsed.node) in _CHANGES


def shows(parsed: Parsed) -> bool:
    """Whether the statement only tells what there is."""
    return type(parsed.node) in _SHOWING


def may_sample(parsed: Parsed) -> bool:
    """Whether the statement leaves out what may be inferred from records of its topic."""
    node = parsed.node
    if not isinstance(node, nodes.CreateSource) or node.args.get("query") is not None:
        return False
    named = {p.this.name.upper() for p in node.args.get("properties") or ()}
    return not node.args.get("columns") or not named & {"FORMAT", "VALUE_FORMAT"}


_SHOWN = {
    "STREAMS": True,
    "TABLES": True,
    "QUERIES": True,
    "TOPICS": False,
    "PROPERTIES": False,
    "FUNCTIONS": False,
    "TYPES": False,
    "VARIABLES": False,
}
"""What SHOW gives, and whether EXTENDED is more of it."""

_RUNNABLE = (
    "it runs CREATE, ALTER, INSERT, DELETE, DROP, TERMINATE, PAUSE, RESUME, SKIP, SHOW, DESCRIBE, EXPLAIN,"
    " ASSERT TOPIC, ASSERT SCHEMA, SET, UNSET, DEFINE, UNDEFINE and SELECT"
)

_SHOWING = {nodes.Show, nodes.DescribeSource, nodes.DescribeStreams, nodes.DescribeFunction, nodes.Explain}

_NO_CONNECTORS = "connectors are not run by ksqlpy"
_CONNECT = (
    "run Kafka Connect beside it, which has a REST API of its own; CREATE STREAM and CREATE TABLE read the topics of"
    " its connectors"
)

_CHECKS: dict[type[exp.Expr], Callable[[Parsed, Sandbox], Command | None]] = {
    nodes.CreateSource: definitions.check_create,
    nodes.AlterSource: definitions.check_alter,
    nodes.DropSource: definitions.check_drop,
    nodes.InsertSelect: definitions.check_insert_select,
    nodes.CreateType: definitions.check_create_type,
    nodes.DropType: definitions.check_drop_type,
    nodes.Terminate: definitions.check_terminate,
    nodes.Pause: definitions.check_pause,
    nodes.Resume: definitions.check_pause,
    nodes.Skip: check_skip,
    nodes.InsertValues: check_insert,
    nodes.DeleteFrom: check_delete,
    nodes.AssertTopic: check_assert_topic,
    nodes.AssertSchema: check_assert_schema,
    nodes.Show: _check_show,
    nodes.DescribeSource: _check_describe,
    nodes.DescribeFunction: lambda p, s: _check_function(p),
    nodes.Explain: _check_explain,
    nodes.SetProperty: _set,
    nodes.UnsetProperty: _unset,
    nodes.Query: _query,
    nodes.UnionAll: _query,
    nodes.Print: _query,
}


def _check_function(parsed: Parsed) -> None:
    FUNCTIONS.get(parsed.node.this.this, Text(parsed.sql).span(parsed.node.this), parsed.sql)


_RUNS: dict[type[exp.Expr], Callable[[Parsed, Context], Entity | None]] = {
    nodes.CreateSource: definitions.create,
    nodes.AlterSource: definitions.alter,
    nodes.DropSource: definitions.drop,
    nodes.InsertSelect: definitions.insert_select,
    nodes.CreateType: definitions.create_type,
    nodes.DropType: definitions.drop_type,
    nodes.Terminate: definitions.terminate,
    nodes.Pause: definitions.pause,
    nodes.Resume: definitions.pause,
    nodes.Skip: skip,
    nodes.InsertValues: insert,
    nodes.DeleteFrom: delete,
    nodes.AssertTopic: assert_topic,
    nodes.AssertSchema: assert_schema,
    nodes.Show: _show,
    nodes.DescribeSource: _describe,
    nodes.DescribeStreams: _describe_streams,
    nodes.DescribeFunction: _describe_function,
    nodes.Explain: _explain,
    nodes.SetProperty: _set,
    nodes.UnsetProperty: _unset,
    nodes.Define: _define,
    nodes.Undefine: _undefine,
}
