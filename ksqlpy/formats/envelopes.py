"""Change events of Debezium, read as the table that they describe (VALUE_ENVELOPE = 'DEBEZIUM').

A value is an envelope: ``op`` says what was done to the row, ``after`` is the row then. c (insert), u (update) and r
(read by a snapshot) set the row of the key, d deletes it, as the tombstone behind it does. t (TRUNCATE) names no key,
and no row can be deleted by it: it is a dead letter, as an event with another op is. A key is a record of the key
columns.

All formats with records can carry envelopes. In JSON an envelope, and a key, may also stand in the ``payload`` beside
its ``schema`` (Kafka Connect's JsonConverter with ``schemas.enable``). Source of the rules: Debezium, connectors,
change events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ksqlpy.catalog import Column, PartSpec, Source, ValueSpec
from ksqlpy.formats import text
from ksqlpy.formats.by_name import FORMATS
from ksqlpy.formats.json import JSON
from ksqlpy.types import STRING, SqlType, StructType

__all__ = ["AFTER", "carries_envelopes", "is_envelope", "keyed", "read_as", "unwrapped"]

OP, AFTER, BEFORE, PAYLOAD = "OP", "AFTER", "BEFORE", "PAYLOAD"


def carries_envelopes(format_: str) -> bool:
    """Whether values in the format can be envelopes."""
    return FORMATS[format_].limits.nested


def keyed(format_: str) -> bool:
    """Whether keys in the format are records, as Debezium's converters write them, not single values."""
    return FORMATS[format_].limits.nested


def is_envelope(columns: Sequence[Column]) -> bool:
    """Whether columns that were inferred are those of an envelope, or of one beside its schema."""
    fields: dict[str, SqlType] = {c.name: c.type for c in columns}
    payload = fields.get(PAYLOAD)
    if isinstance(payload, StructType):
        fields = dict(payload.fields)
    return {OP, AFTER, BEFORE} <= fields.keys()


def read_as(source: Source, spec: PartSpec) -> PartSpec | None:
    """What the key or the value of a source is read as, ahead of :func:`unwrapped`; None: as what it is."""
    if not source.envelope or not spec.columns:
        return None
    if isinstance(spec, ValueSpec):
        row = StructType(tuple((c.name, c.type) for c in spec.columns))
        return replace(
            spec, columns=_beside_schema(spec.format, (Column(OP, STRING), Column(AFTER, row))), wrapped=True
        )
    if spec.format != JSON.name or spec.bare:
        return None
    return replace(spec, columns=_beside_schema(spec.format, spec.columns))


def _beside_schema(format_: str, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns, in JSON also within what stands beside a schema."""
    if format_ != JSON.name:
        return columns
    return (*columns, Column(PAYLOAD, StructType(tuple((c.name, c.type) for c in columns))))


def unwrapped(source: Source, spec: PartSpec, read: str) -> str:
    """Spark SQL text of ``struct<row, error>`` of the columns, of what was read as :func:`read_as` says."""
    if isinstance(spec, ValueSpec):
        return _row_of_event(spec, read)
    payload = text.field(f"{read}.row", len(spec.columns))
    fields = ", ".join(f"{text.string(c.name)}, {text.field(f'{read}.row', i)}" for i, c in enumerate(spec.columns))
    row = f"CASE WHEN {payload} IS NOT NULL THEN {payload} WHEN {read}.row IS NOT NULL THEN named_struct({fields}) END"
    return f"named_struct('row', {row}, 'error', {read}.error)"


def _row_of_event(spec: ValueSpec, read: str) -> str:
    row = f"{read}.row"
    op, after = text.field(row, 0), text.field(row, 1)
    if spec.format == JSON.name:
        payload = text.field(row, 2)
        op, after = (f"coalesce({text.field(payload, i)}, {own})" for i, own in enumerate((op, after)))
    sets = f"{op} IN ('c', 'u', 'r')"
    cases = (
        f"WHEN {read}.error IS NOT NULL THEN {read}.error",
        f"WHEN {row} IS NULL OR {op} = 'd' OR ({sets} AND {after} IS NOT NULL) THEN NULL",
        f"WHEN {op} IS NULL THEN 'not a change event of Debezium: it has no op'",
        f"WHEN {op} = 't' THEN 'TRUNCATE (op t) names no key: the rows of the table stay'",
        f"WHEN {sets} THEN concat('a change event with op ', {op}, ' has no after')",
        f"ELSE concat('a change event has the op ', {op}, ', which is not known')",
    )
    return f"named_struct('row', CASE WHEN {sets} THEN {after} END, 'error', CASE {' '.join(cases)} END)"
