"""A stream for a file that no statement declares: its columns are inferred, as CREATE infers those of a topic.

Fields of CSV and JSON have the types that the values of the rows have in common (:mod:`ksqlpy.formats.jsontypes`): a
field of CSV that is written as JSON writes numbers is a number. Parquet says its types itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

from ksqlpy.analysis import typed as t
from ksqlpy.catalog import Column, Source, ValueSpec
from ksqlpy.errors import AnalysisProblem
from ksqlpy.formats import JSON, NONE, key_spec
from ksqlpy.formats.java import LONGEST_NUMBER
from ksqlpy.formats.jsontree import Number, Pairs
from ksqlpy.formats.jsontypes import type_of_trees
from ksqlpy.local.files import Raw, raw_rows
from ksqlpy.local.parquet import NoType, parquet_columns
from ksqlpy.local.rows import ROWTIME
from ksqlpy.types import SqlType, StructType

__all__ = ["LOOKED_AT", "Inferred", "declaration", "inferred"]

LOOKED_AT = 100_000
"""So many rows are looked at, at most: of a larger file, later ones may not fit."""

_NAME = re.compile(r"[A-Za-z0-9_-]+\Z")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS: Mapping[str, bool] = {"true": True, "false": False}


@dataclass(frozen=True)
class Inferred:
    """A stream that is made for a file; ``whole``: all of its rows were looked at; ``told``: what was found."""

    source: Source
    whole: bool
    told: str


def inferred(name: str, file: Path) -> Inferred:
    """The stream of that name, in capitals, over the rows of the file.

    Raises AnalysisProblem ``not-inferred`` and ``bad-name``, and what :func:`~ksqlpy.local.files.read_rows` raises.
    """
    name = name.upper()
    if not _NAME.match(name):
        raise AnalysisProblem("bad-name", "the name of a source may hold letters, digits, _ and - only")
    if file.suffix.lower() == ".parquet":
        whole, of, fields = True, f"the schema of {file}", _of_schema(name, file)
    else:
        whole, of, fields = _of_rows(name, file)
    columns = _columns(name, file, fields)
    value = ValueSpec(JSON.name, wrapped=True)
    source = Source(name, "STREAM", name.lower(), columns, key_spec(NONE.name), value, statement="")
    return Inferred(source, whole, f"Inferred from {of}: {name} ({source.schema_text})")


def declaration(name: str) -> str:
    """What helps where nothing, or the wrong, is inferred."""
    return (
        f"declare its columns: -e \"CREATE STREAM {name} (…) WITH (KAFKA_TOPIC = '{name.lower()}',"
        " VALUE_FORMAT = 'JSON', PARTITIONS = 1);\""
    )


def _columns(name: str, file: Path, fields: Mapping[str, SqlType]) -> tuple[Column, ...]:
    """The columns of the fields, in capitals; ROWTIME is the time of a record, and a field without a name is none."""
    _apart(name, file, fields)
    found = {field.upper(): type_ for field, type_ in fields.items() if field and field.upper() != ROWTIME}
    pseudo = next((c for c in found if c in t.SYSTEM), None)
    if pseudo is not None:
        raise _refused(name, f"{file} has a field {pseudo}, which is the name of a pseudo column")
    if not found:
        raise _refused(name, f"{file} has no fields from which columns could be inferred")
    return tuple(Column(column, type_) for column, type_ in found.items())


def _apart(name: str, file: Path, fields: Iterable[str]) -> None:
    """Refuses fields that differ in case only."""
    seen: dict[str, str] = {}
    for field in fields:
        if seen.setdefault(field.upper(), field) != field:
            said = f"{file} has the fields {seen[field.upper()]} and {field}, which would be one column"
            raise _refused(name, said)


def _refused(name: str, message: str) -> AnalysisProblem:
    return AnalysisProblem("not-inferred", message, hint=declaration(name))


# ---------------------------------------------------------------- fields


def _of_schema(name: str, file: Path) -> Mapping[str, SqlType]:
    try:
        return parquet_columns(file)
    except NoType as e:
        raise _refused(name, f"{file}: column {e.name} is of type {e.type}, for which SQL has none") from e


def _of_rows(name: str, file: Path) -> tuple[bool, str, Mapping[str, SqlType]]:
    """Whether these are all rows, which rows they are, and the fields that they have."""
    count = 0

    def counted(rows: Iterator[Raw]) -> Iterator[Mapping[str, Any]]:
        nonlocal count
        for _, row in rows:
            count += 1
            yield row

    rows = raw_rows(file)
    looked_at = counted(islice(rows, LOOKED_AT))
    csv = file.suffix.lower() == ".csv"
    type_ = type_of_trees(_csv_trees(name, file, looked_at) if csv else map(_tree, looked_at))
    if type_ is None:
        raise _refused(name, f"{file} has no rows from which columns could be inferred")
    whole = next(rows, None) is None
    of = f"{'' if whole else 'the first '}{count:,} {'row' if count == 1 else 'rows'} of {file}"
    return whole, of, dict(type_.fields) if isinstance(type_, StructType) else {}


def _csv_trees(name: str, file: Path, rows: Iterator[Mapping[str, str | None]]) -> Iterator[Any]:
    """The rows as one tree, with texts enough of each field to tell its type; nothing for no rows."""
    told: dict[str, dict[object, str]] = {}
    for row in rows:
        if not told:
            _apart(name, file, row)
            told = {field: {} for field in row}
        for field, text in row.items():
            if text is not None and _ANY not in (forms := told[field]):
                forms.setdefault(_form(text), text)
    if told:
        yield Pairs((field, _csv_tree(text)) for field, forms in told.items() for text in forms.values() or [None])


_ANY = "a text"
_SHORT = 18
"""So many characters has a whole number that is a BIGINT, whatever its digits are."""


def _form(text: str) -> object:
    """Texts of one form are of one type."""
    if len(text) <= LONGEST_NUMBER and _NUMBER.fullmatch(text):
        return text if len(text) > _SHORT else text.lstrip("-").isdigit()
    return _ANY if text.lower() not in _WORDS else "a word"


def _csv_tree(text: str | None) -> Any:
    """A field of CSV as the tree of what it would be in JSON."""
    if text is None:
        return None
    form = _form(text)
    return text if form == _ANY else _WORDS[text.lower()] if form == "a word" else Number(text)


def _tree(value: Any) -> Any:
    match value:
        case bool() | None | str():
            return value
        case int() | Decimal():
            return Number(value)
        case float():  # NaN and the infinite ones, as Python writes them
            return Number("0.0")
        case dict():
            return Pairs((name, _tree(inner)) for name, inner in value.items())
    return [_tree(inner) for inner in value]
