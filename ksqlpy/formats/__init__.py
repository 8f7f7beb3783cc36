"""How records are read and written: a format is one object, in one file of this folder.

:mod:`~ksqlpy.formats.contract` says what a format answers, :data:`FORMATS` has them by name. The functions here ask the
format of a source's key or value (:class:`~ksqlpy.catalog.PartSpec`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ksqlpy.catalog import KeySpec, PartSpec, Source
from ksqlpy.formats.by_name import FORMATS
from ksqlpy.formats.contract import DECLARED, RECORDS, Codec, Format, Refusal, Schemas, Unreadable, Which, Written
from ksqlpy.formats.delimited import DELIMITED
from ksqlpy.formats.json import JSON, json_object
from ksqlpy.formats.kafka import KAFKA
from ksqlpy.formats.none import NONE
from ksqlpy.formats.subjects import Subjects
from ksqlpy.registry import SchemaRegistry

__all__ = [
    "DELIMITED",
    "FORMATS",
    "JSON",
    "KAFKA",
    "NONE",
    "Codec",
    "Format",
    "Refusal",
    "Schemas",
    "Unreadable",
    "Written",
    "codec",
    "declared",
    "json_object",
    "key_spec",
    "of_kind",
    "present",
    "read",
    "registered",
    "writable",
    "write",
]


def key_spec(format_: str, **more: Any) -> KeySpec:
    """How keys of a format are written; ``more``: what else the spec says."""
    return KeySpec(format_, wrapped=FORMATS[format_].limits.wraps == RECORDS, **more)


def of_kind(kind: str) -> Format | None:
    """The format whose schemas the schema registry calls so."""
    return next((f for f in FORMATS.values() if isinstance(f.schemas, Subjects) and f.schemas.kind == kind), None)


def present(spec: PartSpec) -> bool:
    """Whether there is anything to read or write."""
    return bool(spec.columns) and not FORMATS[spec.format].empty


def read(spec: PartSpec, data: str) -> str:
    """Spark SQL text that reads bytes into ``struct<row, error>``; ``row`` is the value itself where it stands bare."""
    return FORMATS[spec.format].reader(spec, data)


def write(spec: PartSpec, columns: Sequence[Written]) -> str:
    """Spark SQL text that gives the bytes of the columns, which are those of ``spec`` in its order."""
    return FORMATS[spec.format if present(spec) else NONE.name].writer(spec, columns)


def codec(spec: PartSpec) -> Codec:
    """What reads and writes single records in Python."""
    return FORMATS[spec.format if present(spec) else NONE.name].codec(spec)


def declared(source: Source, registry: SchemaRegistry | None) -> Source:
    """A source that is declared, with what its formats know of its schemas; raises KsqlError."""
    if source.read_only or source.envelope:
        return source
    key, value = (
        FORMATS[spec.format].schemas.declare(source.topic, which, spec, registry) for which, spec in _parts(source)
    )
    return _with_schemas(source, key, value)


def registered(source: Source, registry: SchemaRegistry | None) -> Source:
    """A source that is written from now on: makes known its schemas, where its formats keep them; raises KsqlError."""
    key, value = (
        FORMATS[spec.format].schemas.register(source.topic, which, spec, registry, source=source.name)
        for which, spec in _parts(source)
    )
    return _with_schemas(source, key, value)


def _with_schemas(source: Source, key: int | None, value: int | None) -> Source:
    return replace(source, key=replace(source.key, schema_id=key), value=replace(source.value, schema_id=value))


def writable(source: Source) -> bool:
    """Whether the schemas of what is written are known, where there are such."""
    return all(
        FORMATS[s.format].schemas is DECLARED or not s.columns or s.schema_id is not None for _, s in _parts(source)
    )


def _parts(source: Source) -> tuple[tuple[Which, PartSpec], tuple[Which, PartSpec]]:
    return ("key", source.key), ("value", source.value)
