"""DESCRIBE of streams, tables and functions, and how queries are described."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ksqlpy.analysis import Text, find_source
from ksqlpy.catalog import Source
from ksqlpy.figuretexts import FIGURES, lag_text, latency_text
from ksqlpy.functions import FUNCTIONS
from ksqlpy.functions.signatures import Function
from ksqlpy.plan import Plan, mode_of
from ksqlpy.runtime import entities
from ksqlpy.runtime.context import Context, Sandbox
from ksqlpy.runtime.entities import Entity
from ksqlpy.runtime.statements.entry import Effect, Statement, Table, legal
from ksqlpy.spark.query_status import State
from ksqlpy.sql import Parsed, nodes

if TYPE_CHECKING:
    from ksqlpy.runtime.plainpush import PlainPush
    from ksqlpy.runtime.push import PushQuery

__all__ = ["STATEMENTS", "described_sources", "errors_of", "push_description", "query_description"]


def _source_description(source: Source, context: Context, *, extended: bool) -> Entity:
    if not extended:
        return entities.source_description(source, context.catalog, context.status)
    replicas = context.brokers.topics.listed(hidden=True).get(source.topic, [])
    queries = (*context.catalog.writers(source.name), *context.catalog.readers(source.name))
    figures = [{"queryId": q, **_figures(q, context)} for q in queries]
    dead = sum(f["deadLetters"] for f in figures)
    copy = context.reads.copies.figures(source.name)
    copied = f"local copy: about {copy['rows']:,} rows, {copy['lag']:,} records behind" if copy is not None else ""
    return entities.source_description(
        source,
        context.catalog,
        context.status,
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


def errors_of(query_id: str, context: Context) -> list[Entity]:
    """The last failures of a query, oldest first: USER, SYSTEM or UNKNOWN."""
    problem = context.catalog.blocked.get(("query", query_id))
    if problem is not None:
        return [{"timestamp": context.began_ms, "errorMessage": problem, "type": "USER"}]
    running = context.supervisor.queries.get(query_id)
    failures = running.failures if running is not None else ()
    return [{"timestamp": int(f.at * 1000), "errorMessage": f.message, "type": f.kind} for f in failures]


def _figures(query_id: str, context: Context, plan: Plan | None = None) -> Entity:
    """What a query does: rows in, out and late and values that an error made null, since the start of the server.

    Also state, lag, dead letters, mode, errors, and the last checkpoint.
    """
    status = context.status(query_id)
    counts = context.supervisor.queries.figures(query_id)
    blocked = ("query", query_id) in context.catalog.blocked
    late_topic = None if blocked else (plan or context.catalog_service.plan_of(query_id)).late_topic
    aside = (context.brokers.topics.dead_letters, late_topic)
    counts = {**counts, "sent": {t: n for t, n in counts["sent"].items() if t not in aside}}
    running = context.supervisor.queries.get(query_id)
    return {
        "state": status.state,
        **status.told(),
        "error": running.error if running is not None else None,
        "errors": errors_of(query_id, context),
        "live": running is not None and running.live.is_set(),
        "mode": running.doing if running is not None and status.state is State.RUNNING else None,
        **{f.name: f.of(counts) for f in FIGURES if f.of is not None},
        "lateTopic": late_topic,
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


def push_description(push: PushQuery | PlainPush, context: Context) -> Entity:
    """An open push query, with its plan and its figures."""
    asked, status = push.asked, push.status or context.status(push.id)
    figures = _figures(push.id, context, asked.plan)
    return entities.query_description(
        push.id, asked.statement, asked.plan, asked.mode, asked.sources, [], status, asked.properties, figures
    )


def query_description(query_id: str, context: Context) -> Entity:
    """A persistent query, with its plan and its figures."""
    query = context.catalog.queries[query_id]
    plan = mode = None
    if ("query", query_id) not in context.catalog.blocked:
        plan = context.catalog_service.plan_of(query_id)
        mode = mode_of(plan, context.brokers.config.for_statement(query.properties))
    status, figures = context.status(query_id), _figures(query_id, context)
    sources, sinks = list(query.sources), [query.sink]
    return entities.query_description(
        query_id, query.statement, plan, mode, sources, sinks, status, query.properties, figures
    )


# ---------------------------------------------------------------- statements


def _check_source(parsed: Parsed, sandbox: Sandbox) -> Source:
    return find_source(sandbox.catalog, parsed.node.this, Text(parsed.sql))


def _source(parsed: Parsed, source: Source, context: Context) -> Entity:
    described = _source_description(source, context, extended=bool(parsed.node.args.get("extended")))
    return entities.entity("sourceDescription", parsed.text, sourceDescription=described)


def described_sources(parsed: Parsed, context: Context) -> Entity:
    """All streams, for SHOW TABLES all tables."""
    kind = parsed.node.args.get("kind", "STREAMS").removesuffix("S")
    extended = bool(parsed.node.args.get("extended"))
    found = [s for s in context.catalog.sources.values() if s.kind == kind]
    described = [_source_description(s, context, extended=extended) for s in found]
    return entities.entity("source_descriptions", parsed.text, sourceDescriptions=described)


def _check_function(parsed: Parsed, sandbox: Sandbox) -> Function:
    return FUNCTIONS.get(parsed.node.this.this, Text(parsed.sql).span(parsed.node.this), parsed.sql)


def _function(parsed: Parsed, function: Function, context: Context) -> Entity:
    return entities.described_function(parsed.text, function)


STATEMENTS: Table = {
    nodes.DescribeSource: Statement[Source]("DESCRIBE", _check_source, _source, Effect.SHOWS),
    nodes.DescribeStreams: Statement[None](
        "DESCRIBE", legal, lambda p, found, c: described_sources(p, c), Effect.SHOWS
    ),
    nodes.DescribeFunction: Statement[Function]("DESCRIBE", _check_function, _function, Effect.SHOWS),
}
