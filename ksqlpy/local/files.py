"""Rows of a source from a CSV, JSON or Parquet file: columns by their names, in any case; types by the source's schema.

CSV has a first line of names; an empty field is NULL. JSON has one object a line (``.jsonl``, ``.ndjson``), or an array
of objects. A column of the file that the source lacks is passed over, a column of the source that the file lacks is
NULL. ``ROWTIME``, if the source has no such column, is the time of the record in milliseconds or as ISO 8601.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from ksqlpy.catalog import Column, Source
from ksqlpy.errors import ConfigProblem, file_reason, similar_names
from ksqlpy.local.convert import Misfit, convert
from ksqlpy.local.parquet import parquet_rows
from ksqlpy.local.rowproblem import FileRowProblem
from ksqlpy.local.rows import ROWTIME, Row, millis
from ksqlpy.types import BIGINT, TIMESTAMP

__all__ = ["FORMATS", "FileRowProblem", "raw_rows", "read_rows"]

Raw = tuple[str, Mapping[str, Any]]
"""Where a row stands, such as ``line 7``, and its fields as the file has them."""


def read_rows(file: Path, source: Source) -> Iterator[Row]:
    """The rows of the file, one after the other.

    Raises FileRowProblem, ConfigProblem ``file-unreadable`` or ``file-format``, and EnvironmentProblem
    ``missing-package`` for a Parquet file without pyarrow.
    """
    fields: dict[str, Column | None] = {}
    for place, raw in raw_rows(file):
        if not raw.keys() <= fields.keys():
            fields |= _matched(raw, source, file)
        yield _row(raw, fields, source, f"{file}{place}")


def raw_rows(file: Path) -> Iterator[Raw]:
    """The rows as the file has them; raises as :func:`read_rows`."""
    read = FORMATS.get(file.suffix.lower())
    if read is None:
        raise ConfigProblem(
            "file-format",
            f"the name of {file} does not say what is in it",
            hint=f"it should end with {', '.join(FORMATS)}",
        )
    try:
        yield from read(file)
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigProblem("file-unreadable", f"the file {file} cannot be read: {file_reason(e)}") from e


def _matched(names: Mapping[str, Any], source: Source, file: Path) -> dict[str, Column | None]:
    """Which column each field of the file is; None: none."""
    columns = {c.name.upper(): c for c in source.written}
    exact = {c.name: c for c in source.written}
    found = {n: exact.get(n) or columns.get(n.upper()) for n in names}
    for name in found:
        if found[name] is None and name.upper() == ROWTIME:
            found[name] = Column(ROWTIME, BIGINT)
    if not any(found.values()):
        first = next(iter(names), "")
        raise FileRowProblem(
            "no-columns",
            f"{file}: none of its fields ({', '.join(names)}) is a column of {source.name}",
            similar=similar_names(first, [c.name for c in source.written]),
            hint=f"the columns are {', '.join(c.name for c in source.written)}",
        )
    return found


def _row(raw: Mapping[str, Any], fields: Mapping[str, Column | None], source: Source, where: str) -> Row:
    values: dict[str, Any] = {}
    time: int | None = None
    for name, given in raw.items():
        column = fields[name]
        if column is None:
            continue
        try:
            if column.name == ROWTIME and source.column(ROWTIME) is None:
                moment = convert(given, TIMESTAMP)
                time = None if moment is None else millis(moment)
            else:
                values[column.name] = convert(given, column.type)
        except Misfit as e:
            said = f"{where}: column {name}{e.path}: {e.said}"
            raise FileRowProblem("wrong-value", said) from e
    missing = [c.name for c in source.keys if values.get(c.name) is None]
    if source.kind == "TABLE" and missing:
        raise FileRowProblem("no-key", f"{where}: a record of a table needs its key: {', '.join(missing)}")
    return Row(values, time)


# ---------------------------------------------------------------- formats


def _csv(file: Path) -> Iterator[Raw]:
    with file.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines)
        try:
            names = next(reader, [])
            twice = [n for i, n in enumerate(names) if n and n in names[:i]]
            if twice:
                said = f"{file}:1: the first line names {twice[0]} twice"
                raise FileRowProblem("duplicate-column", said, hint="rename one of them")
            line = reader.line_num + 1
            for record in reader:
                if record:  # else an empty line
                    if len(record) != len(names):
                        said = f"{file}:{line}: {len(record)} fields, the first line names {len(names)}"
                        raise FileRowProblem("field-count", said)
                    yield f":{line}", {n: v if v != "" else None for n, v in zip(names, record, strict=True)}
                line = reader.line_num + 1
        except csv.Error as e:
            raise FileRowProblem("not-csv", f"{file}:{reader.line_num}: this is no CSV: {e}") from e


def _json_lines(file: Path) -> Iterator[Raw]:
    with file.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    value = json.loads(line, parse_float=Decimal)
                except (ValueError, RecursionError) as e:
                    raise FileRowProblem("not-json", f"{file}:{number}: this is no JSON: {_why(e)}") from e
                yield f":{number}", _object(value, f"{file}:{number}")


def _json(file: Path) -> Iterator[Raw]:
    text = file.read_text(encoding="utf-8-sig")
    if not text.lstrip().startswith("["):
        yield from _json_lines(file)
        return
    decoder = json.JSONDecoder(parse_float=Decimal)
    at, line, seen = text.index("[") + 1, 1, 0
    while True:
        while at < len(text) and text[at] in ", \t\r\n":
            at += 1
        line, seen = line + text.count("\n", seen, at), at
        if text[at : at + 1] == "]":
            return
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as e:
            raise FileRowProblem("not-json", f"{file}:{line}: this is no JSON: {_why(e)}") from e
        yield f":{line}", _object(value, f"{file}:{line}")


def _why(error: ValueError | RecursionError) -> str:
    """What is wrong with a text of JSON; what is no :class:`json.JSONDecodeError` are limits of Python."""
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    return "it is nested too deeply" if isinstance(error, RecursionError) else "a number has too many digits"


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise FileRowProblem("not-json", f"{where}: a row must be a JSON object")
    return value


FORMATS: Mapping[str, Callable[[Path], Iterator[Raw]]] = {
    ".csv": _csv,
    ".json": _json,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".parquet": parquet_rows,
}
"""The readers of files, by how their names end."""
