"""DESCRIBE of streams, tables and functions, and how queries are described."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ksqlpy.access import EVERYTHING, Need, Right
from ksqlpy.analysis import Text, find_source
from ksqlpy.catalog import Owner, Source
from ksqlpy.figures import Counts, lag_text, latency_text
from ksqlpy.functions.signatures import Function
from ksqlpy.plan import mode_of
from ksqlpy.runtime import entities
from ksqlpy.runtime.context import Context, Sandbox
from ksqlpy.runtime.described import Described, described_query
from ksqlpy.runtime.entities import Entity
from ksqlpy.runtime.functionuse import users
from ksqlpy.runtime.statements.entry import Effect, Statement, Table, free, legal
from ksqlpy.spark.query_status import QueryStatus
from ksqlpy.sql import Parsed, nodes

if TYPE_CHECKING:
    from ksqlpy.runtime.plainpush import PlainPush
    from ksqlpy.runtime.push import PushQuery

__all__ = ["STATEMENTS", "described_sources", "push_description", "query_description"]


def _source_description(source: Source, context: Context, *, extended: bool) -> Entity:
    if not extended:
        return _masked(entities.source_description(source, context.visible, context.status), source, context)
    replicas = context.brokers.topics.listed(hidden=True).get(source.topic, [])
    queries = (*context.visible.writers(source.name), *context.visible.readers(source.name))
    found = [described_query(q, context) for q in queries]
    dead = sum(sum(q.figures.letters.values()) for q in found)
    copy = context.reads.copies.figures(source.name)
    copied = f"local copy: about {copy['rows']:,} rows, {copy['lag']:,} records behind" if copy is not None else ""
    described = entities.source_description(
        source,
        context.visible,
        context.status,
        {
            "partitions": len(replicas),
            "replication": replicas[0] if replicas else 0,
            "localCopy": copy,
            "statistics": "; ".join(
                [_statistics(q) for q in found]
                + [line for q in found for line in _executors(q)]
                + ([copied] if copied else [])
            ),
            "errorStats": "; ".join(
                [f"dead letters: {dead}"]
                + [f"{q.id}: {n} failed expressions" for q in found if (n := q.figures.counts.failed)]
                + [f"{q.id}: {e['type']}: {e['errorMessage']}" for q in found for e in q.errors[-1:]]
            ),
            "deadLetters": dead,
            "deadLetterTopic": context.brokers.topics.dead_letters,
            "queryFigures": [{"queryId": q.id, **q.entity()} for q in found],
        },
    )
    return _masked(described, source, context)


def _masked(described: Entity, source: Source, context: Context) -> Entity:
    """Without the statement where that may name sources that the principal does not see."""
    view = context.visible
    if view.viewer is not None and source.query is not None and source.query not in view.queries:
        described["statement"] = ""
    return described


def _statistics(described: Described) -> str:
    counts = described.figures.counts
    return (
        f"{described.id}: {_stands(described.status)}, rows in {sum(counts.consumed.values())},"
        f" rows out {sum(counts.sent.values())}, late rows {counts.late}, lag {lag_text(counts.lag)}{_latency(counts)}"
    )


def _executors(described: Described) -> list[str]:
    """A line of each executor of a cluster."""
    return [
        f"{described.id} on executor {id_}: rows in {sum(e.consumed.values())}, rows out {sum(e.sent.values())},"
        f" lag {lag_text(e.lag)}{_latency(e)}"
        for id_, e in described.figures.counts.executors.items()
    ]


def _latency(counts: Counts) -> str:
    """The latency in one line of DESCRIBE … EXTENDED."""
    return "" if counts.latency is None else f", latency {latency_text(counts.latency)}"


def _stands(status: QueryStatus) -> str:
    """A query's state in one line of DESCRIBE … EXTENDED."""
    if not status.tries:
        return status.state
    after = status.next_try
    when = "is being made" if after is None else f"at {datetime.fromtimestamp(after, UTC):%H:%M:%S} UTC"
    return f"{status.state} ({status.tries} failed, next try {when})"


def push_description(push: PushQuery | PlainPush, context: Context) -> Entity:
    """An open push query, with its plan and its figures."""
    asked, status = push.asked, push.status or context.status(push.id)
    figures = described_query(push.id, context, asked.plan).entity()
    return entities.query_description(
        push.id,
        asked.statement,
        asked.plan,
        asked.mode,
        asked.sources,
        [],
        status,
        asked.properties,
        figures,
        Owner.of(asked.principal),
    )


def query_description(query_id: str, context: Context) -> Entity:
    """A persistent query, with its plan and its figures."""
    query = context.catalog.queries[query_id]
    plan = mode = None
    if ("query", query_id) not in context.catalog.blocked:
        plan = context.catalog_service.plan_of(query_id)
        mode = mode_of(plan, context.brokers.config.for_statement(query.properties))
    status, figures = context.status(query_id), described_query(query_id, context).entity()
    sources, sinks = list(query.sources), [query.sink]
    return entities.query_description(
        query_id, query.statement, plan, mode, sources, sinks, status, query.properties, figures, query.owner
    )


# ---------------------------------------------------------------- statements


def _check_source(parsed: Parsed, sandbox: Sandbox) -> Source:
    return find_source(sandbox.visible, parsed.node.this, Text(parsed.sql))


def _seen(parsed: Parsed, sandbox: Sandbox) -> list[Need]:
    """Any right: who may only insert must know the columns, too."""
    return Need.on(None, parsed.node.this.this)


def _source(parsed: Parsed, source: Source, context: Context) -> Entity:
    described = _source_description(source, context, extended=bool(parsed.node.args.get("extended")))
    return entities.entity("sourceDescription", parsed.text, sourceDescription=described)


def described_sources(parsed: Parsed, context: Context) -> Entity:
    """All streams, for SHOW TABLES all tables."""
    kind = parsed.node.args.get("kind", "STREAMS").removesuffix("S")
    extended = bool(parsed.node.args.get("extended"))
    found = [s for s in context.visible.sources.values() if s.kind == kind]
    described = [_source_description(s, context, extended=extended) for s in found]
    return entities.entity("source_descriptions", parsed.text, sourceDescriptions=described)


def _check_function(parsed: Parsed, sandbox: Sandbox) -> Function:
    return sandbox.visible.calls.get(parsed.node.this.this, Text(parsed.sql).span(parsed.node.this), parsed.sql)


def _function(parsed: Parsed, function: Function, context: Context) -> Entity:
    """The code of one in Python is shown to those only who may create it: it may hold what is not for all."""
    definition = function.definition
    if definition is None:
        return entities.described_function(parsed.text, function)
    found = users(definition.name, context.visible.queries, context.catalog_service.plan_of)
    python = entities.python_function(definition, found, source=context.may(Right.ADMIN, EVERYTHING))
    return entities.described_function(parsed.text, function, python)


STATEMENTS: Table = {
    nodes.DescribeSource: Statement[Source]("DESCRIBE", _check_source, _source, Effect.SHOWS, needs=free, first=_seen),
    nodes.DescribeStreams: Statement[None](
        "DESCRIBE", legal, lambda p, found, c: described_sources(p, c), Effect.SHOWS, needs=free
    ),
    nodes.DescribeFunction: Statement[Function]("DESCRIBE", _check_function, _function, Effect.SHOWS, needs=free),
}
