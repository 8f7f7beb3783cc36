"""The form in which a source is stored, in plans and in the command log: flat, with names that are kept for ever."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ksqlpy.catalog import Column, Envelope, KeySpec, Nulls, Schema, Source, ValueSpec, WindowKey

__all__ = ["StoredSource"]


@dataclass(frozen=True)
class StoredSource:
    """A source as it is stored; see :class:`ksqlpy.catalog.Source` for what the fields mean."""

    name: str
    kind: Literal["STREAM", "TABLE"]
    topic: str
    columns: tuple[Column, ...]
    key_format: str
    value_format: str
    statement: str
    timestamp: str | None = None
    timestamp_format: str | None = None
    window: WindowKey | None = None
    query: str | None = None
    wrapped: bool = True
    key_delimiter: str = ","
    value_delimiter: str = ","
    read_only: bool = False
    key_schema_id: int | None = None
    value_schema_id: int | None = None
    key_schema: Schema | None = None
    value_schema: Schema | None = None
    key_schema_name: str | None = None
    value_schema_name: str | None = None
    key_nulls: Nulls = ""
    value_nulls: Nulls = ""
    key_wrapped: bool = False
    envelope: Envelope = ""

    @classmethod
    def of(cls, source: Source) -> StoredSource:
        """The stored form of a source."""
        return cls(
            source.name,
            source.kind,
            source.topic,
            source.columns,
            source.key.format,
            source.value.format,
            source.statement,
            source.timestamp,
            source.timestamp_format,
            source.window,
            source.query,
            source.value.wrapped,
            source.key.delimiter,
            source.value.delimiter,
            source.read_only,
            source.key.schema_id,
            source.value.schema_id,
            source.key.schema,
            source.value.schema,
            source.key.schema_name,
            source.value.schema_name,
            source.key.nulls,
            source.value.nulls,
            source.key.wrapped,
            source.envelope,
        )

    def source(self) -> Source:
        """The inverse of :meth:`of`."""
        return Source(
            self.name,
            self.kind,
            self.topic,
            self.columns,
            KeySpec(
                self.key_format,
                delimiter=self.key_delimiter,
                schema_id=self.key_schema_id,
                schema=self.key_schema,
                schema_name=self.key_schema_name,
                nulls=self.key_nulls,
                wrapped=self.key_wrapped,
            ),
            ValueSpec(
                self.value_format,
                delimiter=self.value_delimiter,
                wrapped=self.wrapped,
                schema_id=self.value_schema_id,
                schema=self.value_schema,
                schema_name=self.value_schema_name,
                nulls=self.value_nulls,
            ),
            self.statement,
            self.timestamp,
            self.timestamp_format,
            self.window,
            self.query,
            self.read_only,
            self.envelope,
        )
