"""Records as the lines of statement files, and back; and what makes two of them equal."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ksqlpy.catalog import Source
from ksqlpy.errors import similar_names
from ksqlpy.formats import Part, key_part, value_part
from ksqlpy.testing.cases import Case, FileProblem, Line
from ksqlpy.types import (
    BIGINT,
    DOUBLE,
    INTEGER,
    STRING,
    ArrayType,
    MapType,
    SqlType,
    StructType,
)

__all__ = ["DeadLetter", "Record", "canonical", "find_source", "inputs", "parse_record", "show_record"]

Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True)
class Record:
    """A record of a topic; ``time`` is None where a line gives none."""

    topic: str
    key: bytes | None
    value: bytes | None
    time: int | None
    headers: Headers = ()


@dataclass(frozen=True)
class DeadLetter:
    """A record that a query could not read."""

    topic: str
    offset: int
    reason: str


def find_source(name: str, sources: Mapping[str, Source], where: str) -> Source:
    """The source that a section means: by its topic, or by its own name in any case; raises FileProblem."""
    for source in sources.values():
        if source.topic == name:
            return source
    found = sources.get(name) or sources.get(name.upper())
    if found is None:
        known = [*(s.topic for s in sources.values()), *sources]
        raise FileProblem(
            where, f"no stream or table is called {name} or has that topic", None, similar_names(name, known)
        )
    return found


def inputs(case: Case, sources: Mapping[str, Source]) -> list[Record]:
    """The records of all input sections, in order; raises FileProblem."""
    records: list[Record] = []
    time = 1
    for section in case.of_kind("input"):
        for line in section.content:
            where = case.where(line.number)
            name, text = section.name, line.text
            if not name:
                name, colon, text = text.partition(":")
                if not colon:
                    raise FileProblem(where, "the line must begin with a topic and a colon, or the section name it")
            record = parse_record(Line(line.number, text.strip()), find_source(name.strip(), sources, where), where)
            if record.time == 0:
                raise FileProblem(where, "the time of an input record is not 0: Kafka's clients take that for now")
            time = time if record.time is None else record.time
            records.append(Record(record.topic, record.key, record.value, time, record.headers))
    return records


# ---------------------------------------------------------------- lines to records

_BYTES = re.compile(r"x'((?:[0-9A-Fa-f]{2})*)'(?=\s|$)")
_WINDOW = re.compile(r"\[(-?\d+), ?(-?\d+)\)(?=\s|$)")
_TIME = re.compile(r"@(-?\d+)(?=\s|$)")
_HEADER = re.compile(r"\+([^\s=]+)=")
_FIELDS = re.compile(r'(?:"(?:[^"]|"")*"|[^\s"])+')
_DECODER = json.JSONDecoder()


def parse_record(line: Line, source: Source, where: str) -> Record:
    """The record that a line describes, by the formats of its source; raises FileProblem."""
    rest = line.text.strip()
    key: bytes | None = None
    part = key_part(source)
    if part.present:
        fields = _FIELDS if part.format == "DELIMITED" else None
        key, rest = _token(rest, lambda text: _encode(part, text, where), where, fields)
        if source.window is not None and key is not None:
            match = _WINDOW.match(rest)
            if match is None:
                raise FileProblem(where, f"the key of {source.name} needs its window, as in 3 [0, 4000)")
            session = source.window.size is None
            key += struct.pack(">qq", int(match[2]), int(match[1])) if session else struct.pack(">q", int(match[1]))
            rest = rest[match.end() :].lstrip()
    time = None
    if match := _TIME.match(rest):
        time, rest = int(match[1]), rest[match.end() :].lstrip()
    headers: list[tuple[str, bytes | None]] = []
    while match := _HEADER.match(rest):
        value, rest = _token(rest[match.end() :], _plain, where)
        headers.append((match[1], value))
    if not rest:
        raise FileProblem(where, "the record has no value", hint="null stands for none")
    body: bytes | None
    if rest == "null":
        body = None
    elif match := _BYTES.fullmatch(rest):
        body = bytes.fromhex(match[1])
    else:
        body = _encode(value_part(source), rest, where)
    return Record(source.topic, key, body, time, tuple(headers))


def _token(
    text: str, encode: Callable[[str], bytes], where: str, form: re.Pattern[str] | None = None
) -> tuple[bytes | None, str]:
    """The bytes of the first piece of the text, which is JSON, or a word, or has the form; and the rest."""
    if match := _BYTES.match(text):
        return bytes.fromhex(match[1]), text[match.end() :].lstrip()
    if form is not None and (match := form.match(text)):
        end = match.end()
    elif text[:1] in ("{", "[", '"'):
        try:
            _, end = _DECODER.raw_decode(text)
        except ValueError as e:
            raise FileProblem(where, f"this is not JSON: {e}") from e
    else:
        end = len(text.split(" ", 1)[0])
    piece = text[:end]
    if not piece:
        raise FileProblem(where, "the line ends too early")
    return None if piece == "null" else encode(piece), text[end:].lstrip()


def _plain(text: str) -> bytes:
    return (json.loads(text) if text.startswith('"') else text).encode()


_NUMBERS: Mapping[SqlType, str] = {INTEGER: ">i", BIGINT: ">q", DOUBLE: ">d"}


def _encode(part: Part, text: str, where: str) -> bytes:
    """The bytes of a text: as it stands, but KAFKA's numbers in their binary form."""
    if part.format != "KAFKA":
        return text.encode()
    type_ = part.columns[0].type
    if type_ not in _NUMBERS:
        return _plain(text)
    try:
        return struct.pack(_NUMBERS[type_], float(text) if type_ == DOUBLE else int(text))
    except (ValueError, struct.error) as e:
        raise FileProblem(where, f"{text} is no {type_}", hint="x'…' stands for any bytes") from e


# ---------------------------------------------------------------- records to lines

_WORD = re.compile(r"[A-Za-z_][\w.-]*\Z")


def show_record(record: Record, source: Source, *, time: bool) -> str:
    """The line that describes the record; ``time``: with its time."""
    words = []
    part = key_part(source)
    key = record.key
    if part.present:
        window = None
        if source.window is not None and key is not None and len(key) >= source.window.key_bytes:
            bounds = key[-source.window.key_bytes :]
            key, start = key[: -source.window.key_bytes], int.from_bytes(bounds[-8:], signed=True)
            size = source.window.size
            window = f"[{start}, {start + size if size is not None else int.from_bytes(bounds[:8], signed=True)})"
        words.append("null" if key is None else _decode(part, key))
        words += [window] if window is not None else []
    if time and record.time is not None:
        words.append(f"@{record.time}")
    words += [f"+{n}={'null' if v is None else _word(v)}" for n, v in record.headers]
    words.append("null" if record.value is None else _decode(value_part(source), record.value))
    return " ".join(words)


def _decode(part: Part, data: bytes) -> str:
    if part.format == "KAFKA":
        type_ = part.columns[0].type
        if type_ in _NUMBERS:
            form = _NUMBERS[type_]
            return str(struct.unpack(form, data)[0]) if len(data) == struct.calcsize(form) else _hex(data)
        return _word(data) if type_ == STRING else _hex(data)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _hex(data)
    odd = not text or text != text.strip() or text == "null" or "\n" in text or _BYTES.fullmatch(text)
    return _hex(data) if odd else text


def _word(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _hex(data)
    return text if _WORD.match(text) and text != "null" else json.dumps(text, ensure_ascii=False)


def _hex(data: bytes) -> str:
    return f"x'{data.hex()}'"


# ---------------------------------------------------------------- equality


class _Number(str):
    """A JSON number by its digits."""


def canonical(record: Record, source: Source) -> tuple[object, ...]:
    """A value that equal records share; the time is left out."""
    key, window = record.key, b""
    if source.window is not None and key is not None:
        key, window = key[: -source.window.key_bytes], key[-source.window.key_bytes :]
    return (
        None if key is None else _canonical_part(key_part(source), key),
        window,
        record.headers,
        None if record.value is None else _canonical_part(value_part(source), record.value),
    )


def _canonical_part(part: Part, data: bytes) -> object:
    if part.format != "JSON":
        return data
    types: SqlType = part.columns[0].type if part.bare else StructType(tuple((c.name, c.type) for c in part.columns))
    try:
        value = json.loads(data, parse_float=_Number, parse_int=_Number, parse_constant=_Number)
    except ValueError:
        return data
    return json.dumps(_plain_value(value, types), sort_keys=True)


def _plain_value(value: Any, type_: SqlType | None) -> Any:
    """The value with numbers as texts: of DOUBLE as Python prints the number, of other types by their digits."""
    if isinstance(value, _Number):
        return {"number": repr(float(value)) if type_ == DOUBLE else str(value)}
    if isinstance(value, dict):
        if isinstance(type_, StructType):
            return {k: _plain_value(v, type_.field(k)) for k, v in value.items()}
        return {k: _plain_value(v, type_.value if isinstance(type_, MapType) else None) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain_value(v, type_.item if isinstance(type_, ArrayType) else None) for v in value]
    return value


def by_key(records: Iterable[Record]) -> Sequence[Record]:
    """The records grouped by key, in order for each."""
    return sorted(records, key=lambda r: (r.key is not None, r.key or b""))
