"""How records are read and written: a format is one object, in one file of this folder.

:mod:`~ksqlpy.formats.contract` says what a format answers, :data:`FORMATS` has them by name. The functions here ask the
format of a source's key or value (:class:`~ksqlpy.catalog.PartSpec`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.catalog import PartSpec, Source
from ksqlpy.formats.contract import Codec, Format, Refusal, Schemas, Unreadable, Written
from ksqlpy.formats.json import JSON, json_object
from ksqlpy.formats.kafka import KAFKA
from ksqlpy.formats.none import NONE
from ksqlpy.formats.registry import FORMATS, UNAVAILABLE

__all__ = [
    "FORMATS",
    "JSON",
    "KAFKA",
    "NONE",
    "UNAVAILABLE",
    "Codec",
    "Format",
    "Refusal",
    "Schemas",
    "Unreadable",
    "Written",
    "codec",
    "json_object",
    "present",
    "read",
    "register_columns",
    "write",
]


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


def register_columns(source: Source) -> None:
    """Makes known the columns of a source that is new, where its formats keep them; raises KsqlError."""
    FORMATS[source.key.format].schemas.register(source.topic, "key", source.keys)
    FORMATS[source.value.format].schemas.register(source.topic, "value", source.values)
