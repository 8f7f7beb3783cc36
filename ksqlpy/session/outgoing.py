"""Rows of a program as the JSON lines that an engine takes: of mappings, of other rows, of data frames."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from importlib import import_module
from typing import Any
from uuid import UUID

import orjson

from ksqlpy.errors import ConfigProblem, EnvironmentProblem, shown
from ksqlpy.session.result import Result

__all__ = ["is_row", "lines"]

_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_PASSTHROUGH_SUBCLASS
_MISSING = {"NAType", "NaTType"}
"""What pandas has where a value is missing."""


def lines(rows: object) -> Iterator[bytes]:
    """A line for each row; raises ConfigProblem ``bad-row`` for what is none, EnvironmentProblem ``missing-package``.

    Decimals keep their digits. A time without a zone is in UTC; NaN and what pandas takes for missing is null.
    """
    for number, row in enumerate(_rows(rows), 1):
        fields = _mapping(row)
        if fields is None:
            said = f"row {number} is a {type(row).__name__}, {shown(row)}"
            raise ConfigProblem("bad-row", said, hint="a row is a mapping of columns and their values")
        try:
            yield _line(fields)
        except (TypeError, ValueError) as e:
            raise ConfigProblem("bad-row", f"row {number} cannot be sent: {e}") from e


def is_row(value: object) -> bool:
    """Whether it is one row, not several."""
    return _mapping(value) is not None


def _rows(rows: object) -> Iterable[Any]:
    """The rows of an iterable, of a data frame, or of what gives Arrow's streams."""
    if isinstance(rows, Mapping | str | bytes):
        hint = "give a list of rows: [row]"
        raise ConfigProblem("bad-row", f"rows are wanted, this is one {type(rows).__name__}", hint=hint)
    kind = type(rows).__module__.partition(".")[0]
    if kind == "pandas" and hasattr(rows, "to_dict"):
        found: Iterable[Any] = rows.to_dict("records")
        return found
    if kind == "polars" and hasattr(rows, "iter_rows"):
        found = rows.iter_rows(named=True)
        return found
    if isinstance(rows, Result):  # whose rows are there without Arrow
        return rows
    if hasattr(rows, "__arrow_c_stream__"):
        return _of_arrow(rows)
    if not isinstance(rows, Iterable):
        raise ConfigProblem("bad-row", f"rows are wanted, this is a {type(rows).__name__}")
    return rows


def _of_arrow(rows: object) -> Iterator[Any]:
    try:
        pyarrow = import_module("pyarrow")
    except ImportError as e:
        said = f"the rows of a {type(rows).__name__} are read by pyarrow, which is not installed"
        raise EnvironmentProblem("missing-package", said, hint="pip install 'ksqlpy[arrow]'") from e
    for batch in pyarrow.RecordBatchReader.from_stream(rows):
        yield from batch.to_pylist(maps_as_pydicts="strict")


def _mapping(row: Any) -> Mapping[Any, Any] | None:
    if isinstance(row, Mapping):
        return row
    for name in ("asdict", "_asdict"):  # rows of a result, named tuples
        if isinstance(row, tuple) and hasattr(row, name):
            found: Mapping[Any, Any] = getattr(row, name)()
            return found
    if dataclasses.is_dataclass(row) and not isinstance(row, type):
        return {f.name: getattr(row, f.name) for f in dataclasses.fields(row)}
    return None


def _line(row: Mapping[Any, Any]) -> bytes:
    try:
        line = orjson.dumps(row if type(row) is dict else dict(row), _plain, _OPTIONS)
    except TypeError:  # numbers of more than 64 bits, and keys that are no texts
        return json.dumps(_written(row), ensure_ascii=False, allow_nan=False).encode()
    if b"null" in line and any(isinstance(v, float) and math.isinf(v) for v in row.values()):
        raise ValueError("JSON has no infinite numbers")
    return line


def _written(value: Any) -> Any:
    """The value with all that is in it as JSON has it."""
    if isinstance(value, Mapping):
        return {k if isinstance(k, str) else str(k): _written(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_written(v) for v in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    if value is None or isinstance(value, str | int | float):
        return value
    return _written(_plain(value))


def _plain(value: Any) -> Any:
    """A value that JSON does not have as one that it has; raises TypeError."""
    if type(value).__name__ in _MISSING:
        return None
    match value:
        case Decimal():
            return None if value.is_nan() else str(value)
        case datetime():
            at = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
            return at.replace(tzinfo=None).isoformat(timespec="milliseconds")
        case date():
            return value.isoformat()
        case time():
            return value.isoformat(timespec="milliseconds")
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode()
        case UUID():
            return str(value)
        case Mapping():
            return dict(value)
        case tuple() | list():
            return [*value]
        case str():
            return str.__str__(value)
        case int():
            return int(value)
        case float():
            return float(value)
    if hasattr(value, "tolist"):  # of numpy
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} is no value of a column")
