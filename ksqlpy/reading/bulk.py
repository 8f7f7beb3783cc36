"""Many records at once as columns of Arrow, without an object of Python for a value.

Arrow's reader of JSON is stricter than ours: it takes a number for a number only, and names as they are written. Where
it refuses anything, or takes what might mean something else to ours, there are no columns: whoever asked makes rows.
"""

from __future__ import annotations

import json
import re
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from operator import itemgetter
from typing import Any, NamedTuple

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Output, Relation
from ksqlpy.arrowtypes import arrow_type
from ksqlpy.catalog import Column, PartSpec, Source
from ksqlpy.formats import JSON, KAFKA, present
from ksqlpy.formats.envelopes import read_as
from ksqlpy.functions.times import LATEST
from ksqlpy.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    SqlType,
    StructType,
)

__all__ = ["Bulk", "Raw", "bulk_of"]

_ROWTIME = t.SYSTEM["ROWTIME"][0]
_OPEN, _SHUT = {ord("{")}, {ord("}")}
_BLOCK = 2**22
"""Bytes that Arrow parses in one piece: a record must fit into it."""

_AS_NUMBERS: Mapping[SqlType, SqlType] = {DATE: INTEGER, TIME: INTEGER, TIMESTAMP: BIGINT}
"""What days and milliseconds are read as."""
_PLAIN = {BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING}
_CODES: Mapping[SqlType, str] = {INTEGER: "i", BIGINT: "q", DOUBLE: "d"}
_DAY = 86_400_000
_NOT_FINITE = re.compile(rb"[:\[,\s]-?(?:NaN|Inf)")
_LONG = 900
"""Bytes from which on a record may have a number, or a depth, that we refuse."""
_LONG_NUMBER = re.compile(rb"[\d.]{%d}" % _LONG)
_INSTANTS = 2**63 // 1000
"""Milliseconds that fit in 64 bits as microseconds, too."""


class Raw(NamedTuple):
    """Keys, values and times (ms since 1970) of records, in their order."""

    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    times: Sequence[int]


class _Other(Exception):
    """Arrow would read it otherwise than we do."""


_REFUSED = (_Other, ValueError, LookupError, TypeError, ArithmeticError, NotImplementedError)
"""Arrow's own errors are some of these."""


class Bulk:
    """Reads records of a source as the columns of a query that selects its columns as they are."""

    def __init__(self, source: Source, outputs: Sequence[tuple[str, str, SqlType]], relation: Relation) -> None:
        """``outputs``: name in the result, internal name, and type of each column."""
        self._outputs = outputs
        self._table = source.kind == "TABLE"
        used = {internal for _, internal, _ in outputs}
        self._key = _part(source, source.key, relation, used)
        self._value = _part(source, source.value, relation, used)

    def read(self, raw: Raw) -> Any:
        """A ``pyarrow.RecordBatch`` of the rows; None where they are to be made one by one. Raises ImportError."""
        arrow = import_module("pyarrow")
        keys, values, times = raw
        if None in values:  # of a stream no rows, and of a table rows that are gone
            kept = [n for n, v in enumerate(values) if v is not None]
            keys, values, times = [keys[n] for n in kept], [values[n] for n in kept], [times[n] for n in kept]
        if times and not 0 <= min(times) <= max(times) <= LATEST:
            return None
        if self._table and None in keys:
            return None
        try:
            found = {**self._value(values, arrow), **self._key(keys, arrow), _ROWTIME: times}
            columns = [_final(found[internal], type_, arrow) for _, internal, type_ in self._outputs]
            return arrow.RecordBatch.from_arrays(columns, names=[name for name, _, _ in self._outputs])
        except _REFUSED:
            return None


_Part = Callable[[Sequence[bytes | None], Any], Mapping[str, Any]]
"""Reads keys, or values: gives columns by their internal names. Raises _Other and what Arrow raises."""


def bulk_of(relation: Relation, outputs: Sequence[Output]) -> Bulk | None:
    """How the columns of a query without WHERE are read in bulk; None where a row is made for each record."""
    source = relation.source
    if relation.view is not None or source.window is not None or source.timestamp is not None:
        return None
    internal = {relation.internal(c.name) for c in (*source.keys, *source.values)} | {_ROWTIME}
    found = []
    for output in outputs:
        if not isinstance(output.expr, t.ColumnRef) or output.expr.name not in internal:
            return None
        found.append((output.name, output.expr.name, output.expr.type))
    used = {name for _, name, _ in found}
    for spec, columns in ((source.key, source.keys), (source.value, source.values)):
        if used & {relation.internal(c.name) for c in columns} and not _readable(source, spec):
            return None
    return Bulk(source, found, relation)


def _readable(source: Source, spec: PartSpec) -> bool:
    if read_as(source, spec) is not None:
        return False
    if spec.format == KAFKA.name:
        return spec.columns[0].type in {*_CODES, STRING, BYTES}
    return spec.format == JSON.name and _fits(StructType(tuple((c.name, c.type) for c in spec.columns)))


def _fits(type_: SqlType) -> bool:
    """Whether Arrow reads values of the type from JSON as we do: it has no base64, and no maps with keys of texts."""
    match type_:
        case ArrayType(item):
            return _fits(item)
        case StructType(fields):
            names = {n for n, _ in fields}
            apart = all(n == n.upper() or n.upper() not in names for n in names) and len(names) == len(fields)
            return bool(fields) and apart and all(_fits(f) for _, f in fields)
        case DecimalType():
            return True
    return type_ in _PLAIN or type_ in _AS_NUMBERS


def _part(source: Source, spec: PartSpec, relation: Relation, used: set[str]) -> _Part:
    columns = [(relation.internal(c.name), c) for c in spec.columns]
    if not present(spec) or not used & {internal for internal, _ in columns}:
        return lambda data, arrow: {}  # what nobody wants is not read
    if spec.format == KAFKA.name:
        [(internal, column)] = columns
        return lambda data, arrow: {internal: _of_kafka(data, column.type, arrow)}

    def read(data: Sequence[bytes | None], arrow: Any) -> Mapping[str, Any]:
        there = [d for d in data if d is not None]
        if not there:
            return {internal: arrow.nulls(len(data), _read_type(c.type, arrow)) for internal, c in columns}
        if len(there) < len(data):
            raise _Other
        found = _parsed(there, spec.columns, bare=spec.bare, arrow=arrow)
        return {internal: found[c.name] for internal, c in columns}

    return read


# ---------------------------------------------------------------- formats


def _of_kafka(data: Sequence[bytes | None], type_: SqlType, arrow: Any) -> Any:
    if type_ in (STRING, BYTES):
        return arrow.array(data, arrow.binary()).cast(arrow_type(type_, arrow))  # refuses what is no UTF-8
    there = [d for d in data if d is not None]
    if not there:
        return arrow.nulls(len(data), arrow_type(type_, arrow))
    numbers = array(_CODES[type_])
    if len(there) < len(data) or {*map(len, there)} != {numbers.itemsize}:
        raise _Other
    numbers.frombytes(b"".join(there))
    if sys.byteorder == "little":
        numbers.byteswap()
    return arrow.Array.from_buffers(arrow_type(type_, arrow), len(numbers), [None, arrow.py_buffer(numbers)])


def _joined(data: Sequence[bytes]) -> bytes:
    """Objects, one behind the other.

    Each begins with { and ends with }. So each holds one object at least, and none goes on in the next: if there are as
    many objects as records in the end, each record is one.
    """
    if {*map(itemgetter(0), data)} != _OPEN or {*map(itemgetter(-1), data)} != _SHUT:
        raise _Other
    return b"\n".join(data)


def _joined_bare(data: Sequence[bytes], column: Column) -> bytes:
    """Bare values, each made the only field of an object: as :func:`_joined`."""
    name = json.dumps(column.name).encode()
    return b"{%b:" % name + (b"}\n{%b:" % name).join(data) + b"}"


def _check_text(data: Sequence[bytes], joined: bytes) -> None:
    """Raises _Other where there may be what Arrow takes for JSON and we do not; UnicodeDecodeError."""
    if not joined.isascii():
        joined.decode()
    if (b"NaN" in joined or b"Inf" in joined) and _NOT_FINITE.search(joined):
        raise _Other
    if max(map(len, data)) >= _LONG:
        for one in data:
            deep = len(one) >= _LONG and one.count(b"[") + one.count(b"{") >= _LONG
            if deep or (len(one) >= _LONG and _LONG_NUMBER.search(one)):
                raise _Other


def _parsed(data: Sequence[bytes], columns: Sequence[Column], *, bare: bool, arrow: Any) -> Mapping[str, Any]:
    """The columns of objects, or a column of bare values. Raises _Other and ValueError."""
    joined = _joined_bare(data, columns[0]) if bare else _joined(data)
    _check_text(data, joined)
    reader = import_module("pyarrow.json")
    schema = arrow.schema([(c.name, _read_type(c.type, arrow)) for c in columns])
    # Names that no column has are read, too, since some of them mean a column: those in lower case.
    options = reader.ParseOptions(explicit_schema=schema, unexpected_field_behavior="infer")
    found = reader.read_json(arrow.py_buffer(joined), reader.ReadOptions(block_size=_BLOCK), options)
    names = {c.name for c in columns}
    others = [n for n in found.column_names if n not in names]
    if found.num_rows != len(data) or any(bare or n.upper() in names for n in others):
        raise _Other
    found.validate(full=True)  # digits of DECIMALs
    made = {}
    for name in names:
        column = found.column(name)
        if column.type != schema.field(name).type:  # a STRUCT with further fields
            raise _Other
        made[name] = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return made


# ---------------------------------------------------------------- types


def _read_type(type_: SqlType, arrow: Any) -> Any:
    """The type as which values are read from JSON."""
    match type_:
        case ArrayType(item):
            return arrow.list_(_read_type(item, arrow))
        case StructType(fields):
            return arrow.struct([(n, _read_type(f, arrow)) for n, f in fields])
    return arrow_type(_AS_NUMBERS.get(type_, type_), arrow)


def _final(values: Any, type_: SqlType, arrow: Any) -> Any:
    """A column in the type of the result. Raises _Other where a value is another one to us."""
    if isinstance(values, Sequence):
        return arrow.array(values, arrow_type(type_, arrow))
    _check(values, type_, arrow)
    return values.cast(arrow_type(type_, arrow))


def _check(values: Any, type_: SqlType, arrow: Any) -> None:
    compute = import_module("pyarrow.compute")
    match type_:
        case ArrayType(item):
            _check(values.flatten(), item, arrow)
        case StructType(fields):
            for part, (_, field) in zip(values.flatten(), fields, strict=True):
                _check(part, field, arrow)
    if type_ == DOUBLE:  # which has no -0.0 in JSON for us
        negative = compute.less(compute.divide(1.0, values), 0.0)
        if compute.any(compute.and_(compute.equal(values, 0.0), negative)).as_py():
            raise _Other
    elif type_ in (TIME, TIMESTAMP):
        least, most = compute.min_max(values).values()
        low, high = (0, _DAY - 1) if type_ == TIME else (-_INSTANTS, _INSTANTS)
        if least.is_valid and not low <= least.as_py() <= most.as_py() <= high:
            raise _Other
