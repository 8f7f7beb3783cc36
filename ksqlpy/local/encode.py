"""Rows of a source as the records that they are in its topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ksqlpy.catalog import Source
from ksqlpy.formats import codec
from ksqlpy.local.rows import Row, codec_value

__all__ = ["encoded"]


def encoded(rows: Iterable[Row], source: Source) -> Iterator[tuple[bytes | None, bytes | None, int | None]]:
    """Key, value and time in ms (None: now) of the record of each row, in the source's own formats."""
    key, value = codec(source.key), codec(source.value)
    for row in rows:
        keys, values = (
            [codec_value(row.columns.get(c.name), c.type) for c in columns] for columns in (source.keys, source.values)
        )
        yield key.encode(keys), value.encode(values), row.time
