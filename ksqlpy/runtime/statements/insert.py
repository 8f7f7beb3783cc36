"""INSERT VALUES and DELETE: constants become a record.

Values that need no function are encoded in Python, by the formats' codecs; Spark computes all others, which takes fifty
times as long.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from ksqlpy.access import Need, Right
from ksqlpy.analysis import Insert, analyze_delete, analyze_insert
from ksqlpy.catalog import PartSpec
from ksqlpy.formats import Codec, codec
from ksqlpy.reading.conditions import folded
from ksqlpy.runtime.context import Context, Sandbox
from ksqlpy.runtime.internal import check_written
from ksqlpy.runtime.statements.entry import Statement, Table, free
from ksqlpy.runtime.writing import Record
from ksqlpy.sql import Parsed, nodes

__all__ = ["STATEMENTS", "plain_record"]


def _check_insert(parsed: Parsed, sandbox: Sandbox) -> Insert:
    made = analyze_insert(parsed, sandbox.visible)
    check_written(made.source, parsed)
    return made


def _insert(parsed: Parsed, made: Insert, context: Context) -> None:
    """Writes the record of INSERT VALUES; raises AnalysisProblem ``insert-failed``, EngineProblem ``not-inserted``."""
    made = _writable(made, context)
    context.writing.send(parsed, made, _record(made, context))


def _check_delete(parsed: Parsed, sandbox: Sandbox) -> Insert:
    made = analyze_delete(parsed, sandbox.visible)
    check_written(made.source, parsed)
    return made


def _delete(parsed: Parsed, made: Insert, context: Context) -> None:
    """Writes the tombstone of DELETE; raises what :func:`_insert` raises."""
    made = _writable(made, context)
    context.writing.send(parsed, made, (_record(made, context)[0], None, None))


def _reads(made: Insert) -> tuple[str]:
    return (made.source.name,)


def _first(parsed: Parsed, sandbox: Sandbox) -> list[Need]:
    """The right to insert, for a tombstone too."""
    return Need.on(Right.INSERT, parsed.node.this.this)


def _writable(made: Insert, context: Context) -> Insert:
    return replace(made, source=context.catalog_service.written(made.source))


def _record(made: Insert, context: Context) -> Record:
    record = plain_record(made)
    if record is None:
        from ksqlpy.spark.evaluate import record_of  # slow to import

        record = record_of(context.supervisor.session, made)
    return record


def plain_record(made: Insert) -> Record | None:
    """The record of an INSERT whose values are constants in Python, too; None for all others, which Spark computes."""
    source = made.source
    found = [folded(v) for v in made.values]
    time = (None,) if made.rowtime is None else folded(made.rowtime)
    if time is None or any(f is None for f in found):
        return None
    values = {c.name: f[0] for c, f in zip(source.written, found, strict=True) if f is not None}
    try:
        key = _codec(source.key).encode([values[c.name] for c in source.keys])
        value = _codec(source.value).encode([values[c.name] for c in source.values])
    except Exception:  # whatever it is, Spark says what is wrong with the value
        return None
    return key, value, time[0]


@lru_cache(256)
def _codec(spec: PartSpec) -> Codec:
    return codec(spec)


STATEMENTS: Table = {
    nodes.InsertValues: Statement[Insert](
        "INSERT", _check_insert, _insert, migrates=True, reads=_reads, needs=free, first=_first
    ),
    nodes.DeleteFrom: Statement[Insert](
        "DELETE", _check_delete, _delete, migrates=True, reads=_reads, needs=free, first=_first
    ),
}
