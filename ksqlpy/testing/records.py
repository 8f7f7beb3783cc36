"""Records as the lines of statement files, and back; and what makes two of them equal."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ksqlpy.catalog import PartSpec, Source
from ksqlpy.errors import KsqlError, similar_names
from ksqlpy.formats import FORMATS, present
from ksqlpy.formats.kafka import of_word, word
from ksqlpy.local.encode import encoded
from ksqlpy.local.files import read_rows
from ksqlpy.testing.cases import Case, FileProblem, Line

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


def inputs(case: Case, sources: Mapping[str, Source], written: Callable[[Source], Source]) -> list[Record]:
    """The records of all input sections, in order.

    ``written``: gives a source as it is once records are written, whose schemas the registry has then. Raises
    FileProblem, and what ``written`` raises.
    """
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
            source = written(find_source(name.strip(), sources, where))
            for record in _described(Line(line.number, text.strip()), source, case, where):
                if record.time == 0:
                    raise FileProblem(where, "the time of an input record is not 0: Kafka's clients take that for now")
                time = time if record.time is None else record.time
                records.append(Record(record.topic, record.key, record.value, time, record.headers))
    return records


def _described(line: Line, source: Source, case: Case, where: str) -> Iterator[Record]:
    """The record of a line, or those of the file that the line names, beside that of the case; raises FileProblem."""
    match = _ROWS.fullmatch(line.text)
    if match is None:
        yield parse_record(line, source, where)
        return
    try:
        for key, value, time in encoded(read_rows(case.file.parent / match[1], source), source):
            yield Record(source.topic, key, value, time)
    except KsqlError as e:
        raise FileProblem(where, e.message, e.hint, e.similar) from e


# ---------------------------------------------------------------- lines to records

_ROWS = re.compile(r"\(rows of (\S+)\)")
_BYTES = re.compile(r"x'((?:[0-9A-Fa-f]{2})*)'(?=\s|$)")
_WINDOW = re.compile(r"\[(-?\d+), ?(-?\d+)\)(?=\s|$)")
_TIME = re.compile(r"@(-?\d+)(?=\s|$)")
_HEADER = re.compile(r"\+([^\s=]+)=")
_DECODER = json.JSONDecoder()


def parse_record(line: Line, source: Source, where: str) -> Record:
    """The record that a line describes, by the formats of its source; raises FileProblem."""
    rest = line.text.strip()
    key: bytes | None = None
    if present(source.key):
        form = FORMATS[source.key.format].key_in_line
        key, rest = _token(rest, lambda text: _encode(source.key, text, where), where, form)
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
        value, rest = _token(rest[match.end() :], of_word, where)
        headers.append((match[1], value))
    if not rest:
        raise FileProblem(where, "the record has no value", hint="null stands for none")
    body: bytes | None
    if rest == "null":
        body = None
    elif match := _BYTES.fullmatch(rest):
        body = bytes.fromhex(match[1])
    else:
        body = _encode(source.value, rest, where)
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


def _encode(spec: PartSpec, text: str, where: str) -> bytes:
    """The bytes that a text stands for in the format; raises FileProblem."""
    try:
        return FORMATS[spec.format].from_text(spec, text)
    except ValueError as e:
        raise FileProblem(where, f"{text} is no {spec.columns[0].type}", hint="x'…' stands for any bytes") from e


# ---------------------------------------------------------------- records to lines


def show_record(record: Record, source: Source, *, time: bool) -> str:
    """The line that describes the record; ``time``: with its time."""
    words = []
    key = record.key
    if present(source.key):
        window = None
        if source.window is not None and key is not None and len(key) >= source.window.key_bytes:
            bounds = key[-source.window.key_bytes :]
            key, start = key[: -source.window.key_bytes], int.from_bytes(bounds[-8:], signed=True)
            size = source.window.size
            window = f"[{start}, {start + size if size is not None else int.from_bytes(bounds[:8], signed=True)})"
        words.append("null" if key is None else _decode(source.key, key))
        words += [window] if window is not None else []
    if time and record.time is not None:
        words.append(f"@{record.time}")
    words += [f"+{n}={'null' if v is None else _word(v)}" for n, v in record.headers]
    words.append("null" if record.value is None else _decode(source.value, record.value))
    return " ".join(words)


def _decode(spec: PartSpec, data: bytes) -> str:
    text = FORMATS[spec.format].to_text(spec, data)
    return _hex(data) if text is None or _BYTES.fullmatch(text) else text


def _word(data: bytes) -> str:
    text = word(data)
    return _hex(data) if text is None else text


def _hex(data: bytes) -> str:
    return f"x'{data.hex()}'"


# ---------------------------------------------------------------- equality


def canonical(record: Record, source: Source) -> tuple[object, ...]:
    """A value that equal records share; the time is left out."""
    key, window = record.key, b""
    if source.window is not None and key is not None:
        key, window = key[: -source.window.key_bytes], key[-source.window.key_bytes :]
    return (
        None if key is None else _canonical_part(source.key, key),
        window,
        record.headers,
        None if record.value is None else _canonical_part(source.value, record.value),
    )


def _canonical_part(spec: PartSpec, data: bytes) -> object:
    return FORMATS[spec.format].comparable(spec, data)


def by_key(records: Iterable[Record]) -> Sequence[Record]:
    """The records grouped by key, in order for each."""
    return sorted(records, key=lambda r: (r.key is not None, r.key or b""))
