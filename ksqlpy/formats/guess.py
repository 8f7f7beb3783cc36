"""Which formats the records of a topic may have, by their bytes: for PRINT, and for CREATE that names no format.

Source of the idea: ksqlDB manual, PRINT. A format stays possible as long as all records so far can be read in it.
"""

from __future__ import annotations

import base64
import io
import json
import struct
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from ksqlpy.errors import EngineProblem
from ksqlpy.formats.contract import Unreadable
from ksqlpy.formats.protobuf import placed
from ksqlpy.formats.protofile import proto_file
from ksqlpy.formats.subjects import AHEAD, Unsupported
from ksqlpy.registry import Registered, SchemaRegistry

__all__ = ["Guess", "time_text"]

Shown = Callable[[bytes], str | None]
"""Bytes as people read them; None where they are not of the format."""

_BYTES = "KAFKA_BYTES"
_REGISTERED = ("AVRO", "JSON_SR", "PROTOBUF")
_FIRST_YEAR, _LAST_YEAR = 1990, 2100
"""Starts of windows lie between; so numbers at the end of texts are told from text."""


class Guess:
    """What the keys or the values of a topic may be. ``registry``: None without one; ``keys``: also with windows."""

    def __init__(self, registry: SchemaRegistry | None, *, keys: bool) -> None:
        self._schemas: dict[int, Registered | None] = {}
        self._registry = registry
        texts: list[tuple[str, Shown]] = [
            ("AVRO", lambda data: self._registered(data, "AVRO", _avro)),
            ("JSON_SR", lambda data: self._registered(data, "JSON", lambda _, rest: _json(rest))),
            ("PROTOBUF", lambda data: self._registered(data, "PROTOBUF", _protobuf)),
            ("JSON", _json),
            ("DELIMITED", lambda data: _text(data) if b"," in data else None),
            ("KAFKA_STRING", _text),
        ]
        numbers = [("KAFKA_INT", _number(">i")), ("KAFKA_BIGINT", _number(">q")), ("KAFKA_DOUBLE", _number(">d"))]
        windowed = [
            (f"{kind}, {name}", around(shown))
            for kind, around in (("TIME WINDOW", _windowed), ("SESSION", _session))
            for name, shown in (*texts, *numbers)
        ]
        formats = [*texts, *(windowed if keys else ()), *numbers]
        self._formats: Mapping[str, Shown] = dict([*formats, (_BYTES, _hex)])
        self._possible = list(self._formats)
        self._seen = self._mixed = False
        self._counts: Counter[str] = Counter()

    @property
    def names(self) -> tuple[str, ...]:
        """The formats that fit all records so far, the likeliest first; none before the first record, or of MIXED."""
        if not self._seen or self._mixed:
            return ()
        registered = [
            f for f in self._possible if f.rpartition(" ")[2] in _REGISTERED
        ]  # that the registry has the id is no chance
        return tuple(registered or [f for f in self._possible if f != _BYTES] or [_BYTES])

    @property
    def counts(self) -> list[tuple[str, int]]:
        """The likeliest formats of single records, with the number of records, the most frequent first."""
        return self._counts.most_common()

    @property
    def text(self) -> str:
        """The formats that are possible, the likeliest first; MIXED where no format fits all records."""
        if not self._seen:
            return "not known, no record has any yet"
        return " or ".join(self.names) or "MIXED"

    def show(self, data: bytes | None) -> str:
        """The bytes of one record in the likeliest format; takes note of what they cannot be.

        Raises EngineProblem where the schema registry does not answer.
        """
        if data is None:
            return "<null>"
        found = {name: text for name, shown in self._formats.items() if (text := shown(data)) is not None}
        self._counts[next(iter(found))] += 1
        common = [name for name in self._possible if name in found]
        # Anything can be shown as bytes: where nothing else is left of several, records are of several formats.
        self._mixed = self._mixed or (self._seen and common == [_BYTES] != self._possible)
        self._possible, self._seen = common, True
        return next(iter(found.values())) if self._mixed else found[common[0]]

    def _registered(self, data: bytes, kind: str, shown: Callable[[Registered, bytes], str | None]) -> str | None:
        if self._registry is None or len(data) < AHEAD or data[0] != 0:
            return None
        [number] = struct.unpack(">i", data[1:AHEAD])
        if number not in self._schemas:
            try:
                self._schemas[number] = self._registry.schema(number)
            except EngineProblem as e:
                if e.code != "registry-refused":
                    raise
                self._schemas[number] = None
        found = self._schemas[number]
        return None if found is None or found.kind != kind else shown(found, data[AHEAD:])


# ---------------------------------------------------------------- formats


def _avro(schema: Registered, data: bytes) -> str | None:
    import fastavro  # slow to import

    stream = io.BytesIO(data)
    named: dict[str, Any] = {}
    try:
        for _, reference in schema.references:
            fastavro.parse_schema(json.loads(reference), named_schemas=named)
        parsed = fastavro.parse_schema(json.loads(schema.text), named_schemas=named)
        value = fastavro.schemaless_reader(stream, parsed, None)
    except Exception:  # fastavro's are those of Python's containers, streams and numbers
        return None
    return json.dumps(value, default=_plain, ensure_ascii=False) if stream.tell() == len(data) else None


def _protobuf(schema: Registered, data: bytes) -> str | None:
    from google.protobuf import json_format, message_factory
    from google.protobuf.message import DecodeError

    try:
        place, rest = placed(data)
        message = proto_file(schema.text, schema.references).at(place)
        found = message_factory.GetMessageClass(message).FromString(rest)
    except (Unreadable, Unsupported, DecodeError):
        return None
    return json_format.MessageToJson(found, preserving_proto_field_name=True, indent=None, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return float(value)
    return value.isoformat() if isinstance(value, date | datetime) else str(value)


def _json(data: bytes) -> str | None:
    """Objects and lists in one line: numbers and words of JSON are likelier text."""
    if data[:1] not in (b"{", b"["):
        return None
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return None
    return _text(data.translate(_ONE_LINE))


_ONE_LINE = bytes.maketrans(b"\n\r\t", b"   ")


def _text(data: bytes) -> str | None:
    try:
        text = data.decode().translate(_ESCAPED)
    except UnicodeDecodeError:
        return None
    return text if all(c.isprintable() for c in text) else None


_ESCAPED = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})


def _number(code: str) -> Shown:
    size = struct.calcsize(code)
    return lambda data: str(struct.unpack(code, data)[0]) if len(data) == size else None


def _windowed(shown: Shown) -> Shown:
    """What shows a key with the start of a window behind it."""

    def show(data: bytes) -> str | None:
        start = _moment(data[-8:]) if len(data) > 8 else None
        key = None if start is None else shown(data[:-8])
        return None if key is None else f"[{key}@{start}/-]"

    return show


def _session(shown: Shown) -> Shown:
    """What shows a key with the end and the start of a session behind it."""

    def show(data: bytes) -> str | None:
        end, start = (_moment(data[-16:-8]), _moment(data[-8:])) if len(data) > 16 else (None, None)
        key = None if start is None or end is None else shown(data[:-16])
        return None if key is None else f"[{key}@{start}/{end}]"

    return show


def _moment(data: bytes) -> int | None:
    [ms] = struct.unpack(">q", data)
    low, high = (int(datetime(y, 1, 1, tzinfo=UTC).timestamp() * 1000) for y in (_FIRST_YEAR, _LAST_YEAR))
    return int(ms) if low <= ms < high else None


def _hex(data: bytes) -> str:
    return f"\\x{data.hex()}"


def time_text(ms: int) -> str:
    """A time in ms since 1970 as PRINT shows it, in UTC."""
    whole, rest = divmod(ms, 1000)
    try:
        return f"{datetime.fromtimestamp(whole, UTC):%Y/%m/%d %H:%M:%S}.{rest:03d} Z"
    except (ValueError, OverflowError, OSError):
        return str(ms)
