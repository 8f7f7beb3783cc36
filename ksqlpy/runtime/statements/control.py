"""TERMINATE, PAUSE, RESUME and SKIP: what becomes of queries that run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sqlglot import exp

from ksqlpy.access import EVERYTHING, Need, Right, Thing, refusal
from ksqlpy.analysis import Text
from ksqlpy.catalog import Catalog, query_named
from ksqlpy.errors import EngineProblem, similar_names
from ksqlpy.runtime import entities
from ksqlpy.runtime.context import Context, Sandbox
from ksqlpy.runtime.entities import Entity
from ksqlpy.runtime.statements.entry import Effect, Statement, Table
from ksqlpy.spark.working import Record
from ksqlpy.sql import Parsed, nodes

if TYPE_CHECKING:
    from ksqlpy.runtime.queries import Queries

__all__ = ["STATEMENTS", "find_query", "operated"]

_PLACE = re.compile(r"(.+)/(\d{1,9})/(\d{1,18})")


def find_query(name: exp.Expr, catalog: Catalog, text: Text, pushes: Iterable[str] = ()) -> str:
    """The id of the query of a name; ``pushes``: push queries that count too.

    Raises AnalysisProblem ``unknown-query``, and StatementError ``missing-right`` where the catalog is the view of
    somebody who may not see all queries.
    """
    query_id = query_named(name.this, (*catalog.queries, *pushes))
    if query_id is None:
        if catalog.viewer is not None:
            similar = similar_names(name.this, catalog.queries)
            need = Need(Right.OPERATE, Thing("QUERY", name.this))
            raise refusal(catalog.viewer, need, span=text.span(name), sql=text.sql, similar=similar)
        similar, hint = similar_names(name.this, catalog.queries), "SHOW QUERIES lists them"
        text.refuse("unknown-query", f"there is no query {name.this}", name, similar=similar, hint=hint)
    return query_id


def _which(parsed: Parsed, sandbox: Sandbox) -> list[str]:
    if parsed.node.args.get("all"):
        return list(sandbox.catalog.queries)
    return [find_query(parsed.node.this, sandbox.visible, Text(parsed.sql))]


def operated(query_ids: Iterable[str], sandbox: Sandbox) -> list[Need]:
    """What is needed to change how queries run: nothing for one's own, else the right on what they write.

    For queries that the principal does not see it is the right on all, which names none of them.
    """
    seen = sandbox.visible.queries
    others = [q for i in query_ids if not (q := sandbox.catalog.queries[i]).is_of(sandbox.principal)]
    return [Need(Right.OPERATE, Thing.source(q.sink) if q.id in seen else EVERYTHING) for q in others]


def _ended(parsed: Parsed, ended: list[str] | str, sandbox: Sandbox) -> list[Need]:
    if isinstance(ended, list):
        return operated(ended, sandbox)
    return [] if sandbox.pushes[ended].is_of(sandbox.principal) else [Need(Right.OPERATE, EVERYTHING)]


def _steered(parsed: Parsed, which: list[str], sandbox: Sandbox) -> list[Need]:
    return operated(which, sandbox)


def _skipping(parsed: Parsed, found: tuple[Record, list[str]], sandbox: Sandbox) -> list[Need]:
    return operated(found[1], sandbox)


def _first(parsed: Parsed, sandbox: Sandbox) -> list[Need]:
    """ALL is for those who may operate all: it would tell others of queries that they do not see."""
    return [Need(Right.OPERATE, EVERYTHING)] if parsed.node.args.get("all") else []


def _done(parsed: Parsed, verb: str, which: list[str], message: str, sequence: int) -> Entity:
    what = f"{verb}/{which[0] if len(which) == 1 else 'ALL'}/execute"
    return entities.status(parsed.text, what, message, sequence)


# ---------------------------------------------------------------- TERMINATE, PAUSE, RESUME


def _check_terminate(parsed: Parsed, sandbox: Sandbox) -> list[str] | str:
    """The persistent queries to end, or the push query."""
    if not parsed.node.args.get("all"):
        push = query_named(parsed.node.this.this, sandbox.pushes)
        if push is not None:
            return push
    ended = _which(parsed, sandbox)
    for query_id in ended:
        sandbox.catalog = sandbox.catalog.without_query(query_id)
    return ended


def _terminate(parsed: Parsed, ended: list[str] | str, context: Context) -> Entity:
    """Ends queries for good; what they have written stays."""
    if isinstance(ended, str):
        closed = context.reads.close(ended)
        return entities.entity("terminate_query", parsed.text, queryId=ended, wasTerminated=closed)
    sequence = context.catalog_service.next_command
    for query_id in ended:
        sequence = context.catalog_service.terminate(query_id)
    return _done(parsed, "terminate", ended, "Query terminated.", sequence)


def _check_pause(parsed: Parsed, sandbox: Sandbox) -> list[str]:
    return _which(parsed, sandbox)


def _pause(parsed: Parsed, which: list[str], context: Context) -> Entity:
    """PAUSE and RESUME; a query that is in the wanted state already stays as it is."""
    paused = isinstance(parsed.node, nodes.Pause)
    sequence = context.catalog_service.next_command
    for query_id in which:
        sequence = context.catalog_service.pause(query_id, paused=paused)
    verb = "pause" if paused else "resume"
    return _done(parsed, verb, which, f"Query {verb}d.", sequence)


# ---------------------------------------------------------------- SKIP


def _check_skip(parsed: Parsed, sandbox: Sandbox) -> tuple[Record, list[str]]:
    """The record, and the queries that are to leave it out; raises AnalysisProblem ``bad-record``."""
    text, node, catalog = Text(parsed.sql), parsed.node.args["record"], sandbox.visible
    place = _PLACE.fullmatch(node.this)
    if place is None:
        hint = "a record is 'topic/partition/offset', as 'rides/0/17'"
        text.refuse("bad-record", f"'{node.this}' names no record", node, hint=hint)
    record = Record(place[1], int(place[2]), int(place[3]))
    readers = {
        q: {catalog.sources[s].topic for s in catalog.queries[q].sources if s in catalog.sources}
        for q in catalog.queries
    }
    which = [q for q in _which(parsed, sandbox) if record.topic in readers[q]]
    if not which:
        similar = similar_names(record.topic, {topic for read in readers.values() for topic in read})
        hint = "EXPLAIN of a query names its topics"
        text.refuse("bad-record", f"no such query reads topic {record.topic}", node, similar=similar, hint=hint)
    return record, which


def _has_read(queries: Queries, query_id: str, record: Record) -> bool:
    """Whether the checkpoint of a query holds what came of a record."""
    query = queries.get(query_id)
    last = None if query is None else query.checkpoint.last_commit
    if query is None or last is None:
        return False
    return query.checkpoint.offsets(last).get(record.topic, {}).get(str(record.partition), 0) > record.offset


def _skip(parsed: Parsed, found: tuple[Record, list[str]], context: Context) -> Entity:
    """Has queries go on without a record that they cannot stand, which becomes a dead letter.

    Those that run are started again from their checkpoints.
    """
    record, which = found
    sequence = context.catalog_service.next_command
    left = [q for q in which if not _has_read(context.supervisor.queries, q, record)]
    if not left:
        message = f"{which[0]} has read record {record}, and its checkpoint holds what came of it"
        raise EngineProblem("record-read", message, error_code=40001)
    for query_id in left:
        sequence = context.catalog_service.skip(query_id, record)
    return _done(parsed, "skip", left, f"Record {record} is left out.", sequence)


STATEMENTS: Table = {
    nodes.Terminate: Statement[list[str] | str](
        "TERMINATE", _check_terminate, _terminate, Effect.CATALOG, migrates=True, needs=_ended, first=_first
    ),
    nodes.Pause: Statement[list[str]](
        "PAUSE", _check_pause, _pause, Effect.CATALOG, migrates=True, needs=_steered, first=_first
    ),
    nodes.Resume: Statement[list[str]](
        "RESUME", _check_pause, _pause, Effect.CATALOG, migrates=True, starts=True, needs=_steered, first=_first
    ),
    nodes.Skip: Statement[tuple[Record, list[str]]](
        "SKIP", _check_skip, _skip, Effect.CATALOG, starts=True, needs=_skipping, first=_first
    ),
}
