"""Rows of a test as records, and records as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.constants import constant_of
from ksqlpy.analysis.jsonrows import JsonRows
from ksqlpy.analysis.result import Relation
from ksqlpy.catalog import Source
from ksqlpy.errors import AnalysisProblem, similar_names
from ksqlpy.formats import Unreadable, codec
from ksqlpy.reading import Record as Stored
from ksqlpy.reading import Rows
from ksqlpy.registry import SchemaRegistry
from ksqlpy.session.outgoing import lines
from ksqlpy.testing.records import Record
from ksqlpy.types import (
    BIGINT,
    DATE,
    DOUBLE,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)

__all__ = ["TIME_OF_ROW", "Deleted", "Reader", "Writer", "columns_of", "expected", "named"]

TIME_OF_ROW = "ROWTIME"
_BOUNDS = ("WINDOWSTART", "WINDOWEND")


class Deleted(dict[str, Any]):
    """The row of a table that is deleted: its key columns. In a topic it is a record without a value."""

    def __repr__(self) -> str:
        return f"deleted({', '.join(f'{n}={v!r}' for n, v in self.items())})"


def columns_of(source: Source) -> dict[str, SqlType]:
    """The columns of the rows of a test: those of the source, and the bounds of its window."""
    found = {c.name: c.type for c in source.columns}
    return found if source.window is None else {**found, **dict.fromkeys(_BOUNDS, BIGINT)}


def named(row: Mapping[str, Any], source: Source) -> dict[str, Any]:
    """The row by the names of its columns, which are in upper case if they are not written as they are.

    Raises AnalysisProblem ``unknown-column``.
    """
    known = {**columns_of(source), TIME_OF_ROW: BIGINT}
    found: dict[str, Any] = Deleted() if isinstance(row, Deleted) else {}
    for name, value in row.items():
        exact = name if name in known else name.upper()
        if exact not in known:
            said = f"{source.name} has no column {name}"
            raise AnalysisProblem("unknown-column", said, similar=similar_names(name, known))
        found[exact] = value
    return found


class Writer:
    """Makes records of rows. A row without ROWTIME has the time of the one before it, the first one 1 ms after 1970."""

    def __init__(self) -> None:
        self._time = 1

    def records(self, source: Source, rows: Iterable[Mapping[str, Any]]) -> list[Record]:
        """The records of the rows, in their order; raises KsqlError."""
        reader, key, value = JsonRows(source), codec(source.key), codec(source.value)
        places = {c.name: i for i, c in enumerate(source.written)}
        found = []
        given = [named(row, source) for row in rows]
        for row in given:
            if TIME_OF_ROW in row:
                row[TIME_OF_ROW] = expected(row[TIME_OF_ROW], BIGINT)
        for row, line in zip(given, lines(given), strict=True):
            values, time = reader.read(line)
            self._time = self._time if time is None else time
            body = None if isinstance(row, Deleted) else value.encode([values[places[c.name]] for c in source.values])
            found.append(
                Record(source.topic, key.encode([values[places[c.name]] for c in source.keys]), body, self._time)
            )
        return found


class Reader:
    """Makes rows of the records of a source, with values as programs have them; ROWTIME stands in each."""

    def __init__(self, source: Source, registry: SchemaRegistry | None) -> None:
        relation = Relation(source, source.name, joined=False)
        internal = {n: relation.internal(n) for n in columns_of(source)}
        internal |= {n: t.SYSTEM[n][0] for n in (TIME_OF_ROW, *(_BOUNDS if source.window is not None else ()))}
        self._rows = Rows(relation, {*internal.values()}, registry)
        types = {**columns_of(source), TIME_OF_ROW: BIGINT}
        self._columns = [(n, internal[n], _python(types[n])) for n in types]
        self._keys = [n for n in (*(c.name for c in source.keys), *_BOUNDS) if n in types]

    def row(self, record: Record) -> dict[str, Any]:
        """The row; one that cannot be read has a single column, which says why."""
        stored = Stored(record.key, record.value, record.time or 0, 0, 0, record.headers)
        try:
            row = self._rows.row(stored)
            gone = row is None
            values = self._rows.gone(stored) if row is None else row
        except Unreadable as e:
            return {"unreadable": str(e)}
        found = {n: None if values.get(i) is None else read(values[i]) for n, i, read in self._columns}
        if not gone:
            return found
        return Deleted({n: found[n] for n in (*self._keys, TIME_OF_ROW)})


# ---------------------------------------------------------------- values

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _python(type_: SqlType) -> Callable[[Any], Any]:
    """What makes a value of a codec one of Python."""
    match type_:
        case ArrayType(item):
            each = _maybe(_python(item))
            return lambda v: [each(x) for x in v]
        case MapType(_, item):
            value = _maybe(_python(item))
            return lambda v: {k: value(x) for k, x in v.items()}
        case StructType(fields):
            parts = {n: _maybe(_python(f)) for n, f in fields}
            return lambda v: {n: read(v.get(n)) for n, read in parts.items()}
    return _PYTHON.get(type_, _same)


def _maybe(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda v: None if v is None else read(v)


def _same(value: Any) -> Any:
    return value


_PYTHON: dict[SqlType, Callable[[Any], Any]] = {
    DATE: lambda days: (_EPOCH + timedelta(days=days)).date(),
    TIME: lambda ms: (_EPOCH + timedelta(milliseconds=ms)).time(),
    TIMESTAMP: lambda ms: _EPOCH + timedelta(milliseconds=ms),
}


def expected(value: Any, type_: SqlType) -> Any:
    """A value that a test writes for a column, as :class:`Reader` has it; as it is where it is none of the type."""
    match value, type_:
        case None, _:
            return None
        case list() | tuple(), ArrayType(item):
            return [expected(v, item) for v in value]
        case Mapping(), MapType(_, item):
            return {k: expected(v, item) for k, v in value.items()}
        case Mapping(), StructType(fields):
            given = {n if n in dict(fields) else n.upper(): v for n, v in value.items()}
            return {n: expected(given.pop(n, None), f) for n, f in fields} | given
        case bool(), _:
            return value
        case int() | float() | str(), DecimalType():
            try:
                return Decimal(str(value))
            except ArithmeticError:
                return value
        case int(), _ if type_ == DOUBLE:
            return float(value)
        case datetime(), _ if type_ == TIMESTAMP and value.tzinfo is None:
            return value.replace(tzinfo=UTC)
        case str(), _ if type_ in (DATE, TIME, TIMESTAMP):
            number = constant_of(value, type_)
            return value if not isinstance(number, int) else _PYTHON[type_](number)
        case int(), _ if type_ == TIMESTAMP:
            return _PYTHON[type_](value)
        case datetime(), _ if type_ == BIGINT:  # ROWTIME and the bounds of windows
            moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
            return (moment - _EPOCH) // timedelta(milliseconds=1)
    return value
