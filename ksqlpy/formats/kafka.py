"""Format KAFKA: one column as Kafka's own serializers write it."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from ksqlpy.catalog import PartSpec
from ksqlpy.formats.contract import BARE, Codec, Format, Limits, Unreadable, Written
from ksqlpy.formats.java import cleaned, java_text
from ksqlpy.formats.jvm import jvm_reader
from ksqlpy.types import BIGINT, BYTES, DOUBLE, INTEGER, STRING, SqlType

__all__ = ["KAFKA", "of_word", "word"]

_NUMBERS: Mapping[SqlType, str] = {INTEGER: ">i", BIGINT: ">q", DOUBLE: ">d"}
_NAN = bytes.fromhex("7ff8000000000000")
_LEAST, _MOST = 1e-9, 1e18
_ZERO = bytes(8)
"""Of both, BIGINT and DOUBLE."""
_WORD = re.compile(r"[A-Za-z_][\w.-]*\Z")


class _Kafka(Format):
    name = "KAFKA"
    about = "one column as Kafka's own serializers write it: INTEGER, BIGINT, DOUBLE, STRING or BYTES"
    limits = Limits(
        frozenset({INTEGER, BIGINT, DOUBLE, STRING, BYTES}), nested=False, most=1, wraps=BARE, regrouped=False
    )

    def wrapped(self, given: bool | None, default: str, columns: int) -> bool:
        """Never."""
        return False

    def sampled(self, records: Sequence[bytes]) -> SqlType | None:
        """STRING for texts, a number where all have its length, else BYTES."""
        if not records:
            return None
        if all(map(_is_text, records)):
            return STRING
        lengths = {len(r) for r in records}
        if lengths == {8}:
            return DOUBLE if all(map(_is_double, records)) and any(r != _ZERO for r in records) else BIGINT
        return INTEGER if lengths == {4} else BYTES

    def reader(self, spec: PartSpec, data: str) -> str:
        """``KafkaReader.java``."""
        return jvm_reader(self.name, spec, data)

    def writer(self, spec: PartSpec, columns: Sequence[Written]) -> str:
        """The bytes of the value, null for null."""
        [column] = columns
        if column.type == BYTES:
            return column.value
        if column.type == DOUBLE:
            bits = f"java_method('java.lang.Double', 'doubleToLongBits', {column.value})"
            return f"case when {column.value} is not null then cast(cast({bits} as bigint) as binary) end"
        return f"cast({column.value} as binary)"  # whole numbers come out big-endian, as Kafka's serializers write them

    def codec(self, spec: PartSpec) -> Codec:
        """The same in Python."""
        return _KafkaCodec(spec.columns[0].type)

    def to_text(self, spec: PartSpec, data: bytes) -> str | None:
        """A number by its digits; a text as a word, or in quotes."""
        type_ = spec.columns[0].type
        if type_ in _NUMBERS:
            form = _NUMBERS[type_]
            return str(struct.unpack(form, data)[0]) if len(data) == struct.calcsize(form) else None
        return word(data) if type_ == STRING else None

    def from_text(self, spec: PartSpec, text: str) -> bytes:
        """The bytes of a number or a text."""
        type_ = spec.columns[0].type
        if type_ not in _NUMBERS:
            return of_word(text)
        try:
            return struct.pack(_NUMBERS[type_], float(text) if type_ == DOUBLE else int(text))
        except struct.error as e:
            raise ValueError(str(e)) from e


class _KafkaCodec:
    def __init__(self, type_: SqlType) -> None:
        self._type = type_

    def decode(self, data: bytes | None) -> tuple[Any, ...] | None:
        if data is None:
            return None
        if self._type == STRING:
            return (java_text(data),)
        if self._type == BYTES:
            return (data,)
        form = _NUMBERS[self._type]
        if len(data) != struct.calcsize(form):
            article = "an" if self._type == INTEGER else "a"
            raise Unreadable(f"{article} {self._type} has {struct.calcsize(form)} bytes, not {len(data)}")
        return struct.unpack(form, data)

    def encode(self, values: Sequence[Any] | None) -> bytes | None:
        if values is None or values[0] is None:
            return None
        [value] = values
        if self._type == BYTES:
            return bytes(value)
        if self._type == STRING:
            return cleaned(value).encode()
        return _NAN if self._type == DOUBLE and math.isnan(value) else struct.pack(_NUMBERS[self._type], value)


KAFKA = _Kafka()


def _is_text(data: bytes) -> bool:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return all(c.isprintable() or c in "\n\r\t" for c in text)


def _is_double(data: bytes) -> bool:
    """Whether eight bytes are rather a usual DOUBLE than a BIGINT: as that, such numbers have 19 digits."""
    [number] = struct.unpack(">d", data)
    return _LEAST <= abs(number) <= _MOST or data == _ZERO


# ---------------------------------------------------------------- texts in lines


def word(data: bytes) -> str | None:
    """A text as it stands in a line: as it is if it is a word, else in quotes as JSON; None for what is no text."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if _WORD.match(text) and text != "null" else json.dumps(text, ensure_ascii=False)


def of_word(text: str) -> bytes:
    """The inverse of :func:`word`; raises ValueError for quotes around what is no JSON."""
    return (json.loads(text) if text.startswith('"') else text).encode()
