r"""Rows of a file go into a stream or table: ``\load FILE INTO NAME``.

A CSV file has the columns' names in its first line, an empty field is NULL; any other file has an object of JSON in
each line. The server reads the values; where it refuses one the file and the line are named, and the rows before it are
there.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ksqlpy.client import RowRefused
from ksqlpy.errors import ConfigProblem, file_reason

if TYPE_CHECKING:
    from ksqlpy.shell.session import Session

__all__ = ["load"]

_ASKED = re.compile(r"""\s*(?P<file>'[^']+'|"[^"]+"|\S+)\s+INTO\s+(?P<into>`(?:[^`]|``)+`|\S+)\s*""", re.IGNORECASE)

Place = tuple[int, Mapping[str, object] | str]
"""The number of a row's line, and the row."""


def load(session: Session, text: str) -> None:
    """Inserts the rows of a file. Raises ConfigProblem; where a row is wrong it begins with file and line."""
    asked = _ASKED.fullmatch(text.rstrip(";"))
    if asked is None:
        raise ConfigProblem("bad-command", "usage: \\load FILE INTO NAME")
    name, into = asked["file"].strip("'\""), asked["into"]
    file = Path(name).expanduser()
    (described,) = session.client.statements(f"DESCRIBE {into};")
    source = described["sourceDescription"]
    fields = {f["name"]: f["schema"]["type"] for f in source["fields"]}
    lines: list[int] = []
    """Of rows that are not known to be there."""
    there = 0

    def rows() -> Iterator[Mapping[str, object] | str]:
        for line, row in _csv(file, fields) if file.suffix.lower() == ".csv" else _json(file):
            lines.append(line)
            yield row

    inserting = session.client.inserts(f"`{source['name']}`", rows())
    try:
        with session.progress.doing(lambda: f"{there:,} rows of {name} are in {source['name']}"):
            for known in inserting:
                del lines[: known - there]
                there = known
    except RowRefused as e:
        raise _wrong(name, lines[e.row - there], e.message, e.row, e.code) from e
    except _Unreadable as e:
        raise _wrong(name, e.line, e.said, there, e.code) from e
    except (OSError, UnicodeDecodeError) as e:
        said = f"the file {name} cannot be read: {file_reason(e)}"
        raise ConfigProblem("file-unreadable", said, hint=_before(there)) from e
    session.printer.text(f"{there:,} rows of {name} are in {source['name']}")


class _Unreadable(Exception):
    def __init__(self, line: int, said: str, code: str) -> None:
        super().__init__(said)
        self.line, self.said, self.code = line, said, code


def _wrong(name: str, line: int, said: str, there: int, code: str) -> ConfigProblem:
    return ConfigProblem(code, f"{name}:{line}: {said}", hint=_before(there))


def _before(there: int) -> str | None:
    if there == 1:
        return "the row before it is there"
    return f"the {there:,} rows before it are there" if there else None


def _json(file: Path) -> Iterator[Place]:
    """Lines as they stand, so that numbers keep their digits."""
    with file.open(encoding="utf-8-sig", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    fits = isinstance(json.loads(line), dict)
                except (ValueError, RecursionError):
                    fits = False
                if not fits:
                    raise _Unreadable(number, "this is no object of JSON", "not-json")
                yield number, line


def _csv(file: Path, fields: Mapping[str, str]) -> Iterator[Place]:
    types = {**{name.upper(): type_ for name, type_ in fields.items()}, **fields}
    with file.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines, strict=True)
        try:
            names = next(reader, [])
            quoted = [f"`{n.replace('`', '``')}`" if n in fields else n for n in names]
            line = reader.line_num + 1
            for record in reader:
                if record:  # else an empty line
                    if len(record) != len(names):
                        said = f"{len(record)} fields, the first line names {len(names)}"
                        raise _Unreadable(line, said, "field-count")
                    read = [_READ.get(types.get(n) or types.get(n.upper(), ""), _text) for n in names]
                    values = (r(text) for r, text in zip(read, record, strict=True))
                    yield line, dict(zip(quoted, values, strict=True))
                line = reader.line_num + 1
        except csv.Error as e:
            raise _Unreadable(reader.line_num, f"this is no CSV: {e}", "not-csv") from e


def _text(text: str) -> object:
    return text or None


def _number(text: str) -> object:
    return _as(text, lambda: int(text))


def _truth(text: str) -> object:
    return {"true": True, "false": False, "": None}.get(text.strip().lower(), text)


def _float(text: str) -> object:
    return _as(text, lambda: number if math.isfinite(number := float(text)) else text)


def _nested(text: str) -> object:
    return _as(text, lambda: json.loads(text))


def _as(text: str, read: Callable[[], Any]) -> object:
    """What is none of its type stays a text, of which the server says what is wrong with it."""
    if not text:
        return None
    try:
        return read()
    except (ValueError, RecursionError):
        return text


_READ: Mapping[str, Callable[[str], object]] = {
    "INTEGER": _number,
    "BIGINT": _number,
    "DOUBLE": _float,
    "BOOLEAN": _truth,
    "ARRAY": _nested,
    "MAP": _nested,
    "STRUCT": _nested,
}
