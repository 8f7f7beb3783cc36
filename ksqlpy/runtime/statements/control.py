"""SKIP: queries go on without a record that they cannot stand; it becomes a dead letter."""

from __future__ import annotations

import re

from ksqlpy.analysis import Text
from ksqlpy.catalog import Catalog
from ksqlpy.errors import EngineProblem, similar_names
from ksqlpy.runtime import entities
from ksqlpy.runtime.context import Context, Entity, Sandbox
from ksqlpy.runtime.statements.create import which_of
from ksqlpy.spark.working import Record
from ksqlpy.sql import Parsed

__all__ = ["check_skip", "skip"]

_PLACE = re.compile(r"(.+)/(\d{1,9})/(\d{1,18})")


def _skipped(parsed: Parsed, catalog: Catalog) -> tuple[Record, list[str]]:
    """The record of SKIP, and the queries that are to leave it out."""
    text, node = Text(parsed.sql), parsed.node.args["record"]
    place = _PLACE.fullmatch(node.this)
    if place is None:
        text.refuse(
            "bad-record",
            f"'{node.this}' names no record",
            node,
            hint="a record is 'topic/partition/offset', as 'rides/0/17'",
        )
    record = Record(place[1], int(place[2]), int(place[3]))
    readers = {
        q: {catalog.sources[s].topic for s in catalog.queries[q].sources if s in catalog.sources}
        for q in catalog.queries
    }
    which = [q for q in which_of(parsed, catalog) if record.topic in readers[q]]
    if not which:
        known = {topic for read in readers.values() for topic in read if topic is not None}
        text.refuse(
            "bad-record",
            f"no such query reads topic {record.topic}",
            node,
            similar=similar_names(record.topic, known),
            hint="EXPLAIN of a query names its topics",
        )
    return record, which


def check_skip(parsed: Parsed, sandbox: Sandbox) -> None:
    """SKIP; raises AnalysisProblem ``unknown-query`` and ``bad-record``."""
    _skipped(parsed, sandbox.catalog)


def skip(parsed: Parsed, context: Context) -> Entity:
    """Has queries go on without a record; those that run are started again from their checkpoints."""
    sequence = context.catalog_service.next_command
    record, which = _skipped(parsed, context.catalog)
    left = [q for q in which if not context.supervisor.queries.has_read(q, record)]
    if not left:
        raise EngineProblem(
            "record-read",
            f"{which[0]} has read record {record}, and its checkpoint holds what came of it",
            error_code=40001,
        )
    for query_id in left:
        sequence = context.catalog_service.skip(query_id, record)
    what = f"skip/{left[0] if len(left) == 1 else 'ALL'}/execute"
    return entities.status(parsed.text, what, f"Record {record} is left out.", sequence)
