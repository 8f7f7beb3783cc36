"""REWIND: a query drops its state and reads its sources again.

The results are written again, behind those that are there: a table has the new row of a key in place of the old one,
a stream has both. Records that the query has not read yet are not left out, whatever time is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ksqlpy.access import Need
from ksqlpy.analysis import Text
from ksqlpy.analysis.constants import check_text, constant_of
from ksqlpy.catalog import Catalog, PersistentQuery
from ksqlpy.errors import EngineProblem
from ksqlpy.runtime import entities
from ksqlpy.runtime.context import Context, Sandbox
from ksqlpy.runtime.entities import Entity
from ksqlpy.runtime.statements.control import find_query, operated
from ksqlpy.runtime.statements.entry import Effect, Statement, Table
from ksqlpy.sql import Parsed, nodes
from ksqlpy.types import TIMESTAMP

__all__ = ["STATEMENTS"]

_Offsets = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class _Rewind:
    """``since``: the time from which its streams are read again, ms since 1970; None: from their beginning."""

    query: str
    since: int | None


def _streams(query: PersistentQuery, catalog: Catalog) -> set[str]:
    """The topics of a query that it reads as streams only: a table needs the rows of all keys, however old."""
    sources = [catalog.sources[s] for s in query.sources if s in catalog.sources]
    return {s.topic for s in sources} - {s.topic for s in sources if s.kind == "TABLE"}


def _check(parsed: Parsed, sandbox: Sandbox) -> _Rewind:
    """Raises AnalysisProblem ``invalid-time``, ``rewind-of-table``; of names as TERMINATE."""
    text, time = Text(parsed.sql), parsed.node.args.get("time")
    query_id = find_query(parsed.node.this, sandbox.visible, text)
    if time is None:
        return _Rewind(query_id, None)
    check_text(time.this, TIMESTAMP, time, text)
    if not _streams(sandbox.catalog.queries[query_id], sandbox.catalog):
        message = f"{query_id} reads no stream, and tables are read from their beginning"
        text.refuse("rewind-of-table", message, time, hint=f"REWIND {query_id} TO BEGINNING")
    since = constant_of(time.this, TIMESTAMP)
    assert isinstance(since, int)
    return _Rewind(query_id, since)


def _run(parsed: Parsed, found: _Rewind, context: Context) -> Entity:
    """Has a query begin again. Raises EngineProblem ``nothing-to-rewind`` where no record is of that time or later."""
    service, kafka = context.catalog_service, context.brokers.kafka
    query = context.catalog.queries[found.query]
    service.plan_of(query.id)  # refuses a query whose entry of the command log is odd
    streams = _streams(query, context.catalog)
    partitions = context.brokers.topics.partitions(query.offsets)
    begins = kafka.offsets(partitions, latest=False)
    offsets = dict(begins)
    if found.since is not None:
        read = context.supervisor.position(query, {t: begins[t] for t in streams})
        since = kafka.offsets_since({t: partitions[t] for t in streams}, found.since)
        again = {t: {p: min(o, read[t][p]) if o >= 0 else read[t][p] for p, o in of.items()} for t, of in since.items()}
        if again == read:
            message = f"{query.id} has read no record of {parsed.node.args['time'].this} or later"
            raise EngineProblem("nothing-to-rewind", message, hint="its state stays as it is", error_code=40001)
        offsets |= again
    sequence = service.rewind(query.id, offsets)
    what, warnings = f"rewind/{query.id}/execute", _deleted(streams, begins, offsets)
    return entities.status(parsed.text, what, "Query rewound.", sequence, query.id, warnings)


def _deleted(streams: set[str], begins: _Offsets, offsets: _Offsets) -> list[str]:
    """A warning for each topic that may have had more records to read again."""
    return [
        f"topic {topic} has lost its first records: in partition {p} it begins with offset {first}"
        for topic in sorted(streams)
        for p, first in begins[topic].items()
        if first > 0 and offsets[topic][p] == first
    ]


def _needs(parsed: Parsed, found: _Rewind, sandbox: Sandbox) -> list[Need]:
    return operated([found.query], sandbox)


STATEMENTS: Table = {
    nodes.Rewind: Statement[_Rewind]("REWIND", _check, _run, Effect.CATALOG, starts=True, needs=_needs)
}
