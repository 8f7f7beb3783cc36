"""The row of a record: the columns of its source by their internal names, read by the formats' Python codecs."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Relation
from ksqlpy.catalog import RESULT_HEADER, Column, PartSpec, Source
from ksqlpy.formats import FORMATS, Unreadable, present
from ksqlpy.formats.envelopes import AFTER, OP, PAYLOAD, read_as
from ksqlpy.functions.times import LATEST
from ksqlpy.registry import SchemaRegistry
from ksqlpy.types import BIGINT, BYTES, INTEGER, STRING

__all__ = ["Record", "Rows"]

_LONG = struct.Struct(">q")
_ROWTIME, _PARTITION, _OFFSET, _START, _END = (
    t.SYSTEM[n][0] for n in ("ROWTIME", "ROWPARTITION", "ROWOFFSET", "WINDOWSTART", "WINDOWEND")
)
_SETS = {"c", "u", "r"}


class Record(NamedTuple):
    """A record of a topic; ``time`` in ms since 1970."""

    key: bytes | None
    value: bytes | None
    time: int
    partition: int
    offset: int
    headers: Sequence[tuple[str, bytes | None]] = ()


Row = dict[str, Any]


class Rows:
    """Reads the records of a relation; a value is what the formats' codecs give.

    ``used``: the internal names that are wanted; what nobody wants is not read. ``readable``: whether all of them can
    be read here; else only Spark does (event time out of a text).
    """

    def __init__(self, relation: Relation, used: set[str], registry: SchemaRegistry | None = None) -> None:
        """``registry``: where schemas of records are asked for; None knows those of the source only."""
        source = relation.source
        self._source = source
        self._window = source.window
        self._key_names = [relation.internal(c.name) for c in source.keys]
        self._value_names = [relation.internal(c.name) for c in source.values]
        self._headers = [(relation.internal(c.name), c) for c in source.headers if relation.internal(c.name) in used]
        self._key = _decoder(source, source.key, registry)
        self._value = _decoder(source, source.value, registry)
        self._timed: int | None = None
        plain = (BYTES, STRING, INTEGER, BIGINT)
        self.readable = all(c.header is None or c.header.key is None or c.type in plain for _, c in self._headers)
        if source.timestamp is not None and _ROWTIME in used:
            column = source.column(source.timestamp)
            if column is None or column.type == STRING or column.key or column.header is not None:
                self.readable = False
            else:
                self._timed = source.values.index(column)
        wanted = {*self._value_names} & used
        self._reads_value = bool(wanted) or self._timed is not None
        self._reads_key = bool({*self._key_names} & used)

    def key(self, data: bytes) -> tuple[Any, ...] | None:
        """The key columns of the bytes of a key without its window; raises Unreadable."""
        return self._key(data)

    def deleted(self, value: bytes) -> bool:
        """Whether the bytes of a value say that there is no row; raises Unreadable."""
        return self._value(value) is None

    def row(self, record: Record) -> Row | None:
        """The row; None of a tombstone. Raises Unreadable."""
        row: Row = {_ROWTIME: record.time, _PARTITION: record.partition, _OFFSET: record.offset}
        if self._source.timestamp is None or record.value is None:
            _check_time(record.time)
        key = record.key
        if self._window is not None and key is not None:
            size = self._window.size
            [start] = _LONG.unpack_from(key, len(key) - 8)
            row[_START] = start
            row[_END] = start + size if size is not None else _LONG.unpack_from(key, len(key) - 16)[0]
            key = key[: -self._window.key_bytes]
        if record.value is None:
            return None
        if self._reads_value:
            values = self._value(record.value)
            if values is None:
                return None
            row.update(zip(self._value_names, values, strict=True))
            if self._timed is not None:
                time = values[self._timed]
                if time is None:
                    raise Unreadable(f"column {self._source.timestamp}: event time is null")
                _check_time(time, f"column {self._source.timestamp}: ")
                row[_ROWTIME] = time
        if self._reads_key:
            keys = self._key(key)
            row.update(zip(self._key_names, keys or [None] * len(self._key_names), strict=True))
        for name, column in self._headers:
            row[name] = _header(column, record.headers)
        return row

    def gone(self, record: Record) -> Row:
        """The row of a tombstone: its key and its window, all else null. Raises Unreadable."""
        row: Row = dict.fromkeys(self._value_names)
        row |= {_ROWTIME: record.time, _PARTITION: record.partition, _OFFSET: record.offset}
        key = record.key
        if self._window is not None and key is not None:
            [row[_START]] = _LONG.unpack_from(key, len(key) - 8)
            size = self._window.size
            row[_END] = row[_START] + size if size is not None else _LONG.unpack_from(key, len(key) - 16)[0]
            key = key[: -self._window.key_bytes]
        row.update(zip(self._key_names, self._key(key) or [None] * len(self._key_names), strict=True))
        row.update((name, _header(column, record.headers)) for name, column in self._headers)
        return row


def _check_time(time: int, ahead: str = "") -> None:
    """Refuses a time that no broker and no window takes, in the words of :mod:`ksqlpy.spark.eventtime`."""
    if not 0 <= time <= LATEST:
        way = "before 1970" if time < 0 else "too late for milliseconds"
        raise Unreadable(f"{ahead}event time is {way} ({time})")


def _decoder(
    source: Source, spec: PartSpec, registry: SchemaRegistry | None
) -> Callable[[bytes | None], tuple[Any, ...] | None]:
    """What reads the bytes of a key or a value; an envelope is taken off."""
    within = read_as(source, spec)
    if not present(spec):
        return lambda data: ()
    if within is None:
        return FORMATS[spec.format].reading(spec, registry).decode
    decode, names = FORMATS[spec.format].reading(within, registry).decode, [c.name for c in spec.columns]
    columns = [c.name for c in within.columns]

    def enveloped(data: bytes | None) -> tuple[Any, ...] | None:
        found = decode(data)
        if found is None:
            return None
        fields: Mapping[str, Any] = dict(zip(columns, found, strict=True))
        if fields.get(PAYLOAD) is not None:
            fields = fields[PAYLOAD]
        if spec is source.key:
            return tuple(fields[n] for n in names)
        op, after = fields.get(OP), fields.get(AFTER)
        if op == "d":
            return None
        if op not in _SETS or after is None:
            raise Unreadable("not a change event that sets a row")
        return tuple(after[n] for n in names)

    return enveloped


def _header(column: Column, headers: Sequence[tuple[str, bytes | None]]) -> Any:
    """The value of a column of headers; those that ksqlpy adds are not seen."""
    assert column.header is not None
    if column.header.key is None:
        return [{"KEY": n, "VALUE": v} for n, v in headers if n != RESULT_HEADER]
    data = next((v for n, v in reversed(headers) if n == column.header.key), None)
    if column.type == BYTES or data is None:
        return data
    text = data.decode(errors="replace")
    if column.type == STRING:
        return text
    try:
        return int(text)
    except ValueError:
        return None
