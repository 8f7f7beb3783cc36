"""The header with a result's coordinates, and the value that carries them to the sink: what is written stays readable.

``spark/jvm/once/Coordinates.java`` and ``spark/jvm/sink`` write both and read the header; this module reads both.
``tests/jvm/header_vectors.json`` holds the two to what was ever written. The header's layout has no version of its own:
another layout would have another name. Only the JVM makes tags and looks at them (``spark/jvm/once/Key.java``).
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from ksqlpy.catalog import RESULT_HEADER

__all__ = ["HEADER", "TAG", "Coordinates", "coordinates", "mark", "taken_apart"]

HEADER = RESULT_HEADER
"""The name of the header with the source coordinates. It is short, since every record has it."""

TAG = 8
"""Bytes of the tag at a header's end: SipHash-2-4 of what stands ahead of it, by the query's key. Versions up to 0.1
wrote none."""


def mark(query_id: str) -> bytes:
    """What begins the header of a query's results: CRC-32 of its id, since several queries may write one topic.

    Anybody may write it; what proves that the query wrote the record is the tag.
    """
    return zlib.crc32(query_id.encode()).to_bytes(4, "big")


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Where a result came from."""

    mark: bytes
    """Of the query, see :func:`mark`."""

    place: int
    """Number of the source's topic in the query << 16 | partition."""

    offset: int
    window: int
    """Start of the window in ms, or the number of the result among the record's; 0 without one."""

    seen: tuple[int, ...]
    """For each joined table the offset of its last record that the row saw, -1 without one."""

    group: tuple[int, ...]
    """Hash of the group, and the last offset that it saw of each lane, -1 without one; empty without a group."""

    tag: bytes = b""
    """What proves that the query wrote it; empty in headers of versions up to 0.1."""


def coordinates(header: bytes, tables: int = 0, *, signed: bool = True) -> Coordinates:
    """What the value of a header says. ``tables``: how many joined tables the query has. ``signed``: it has a tag."""
    numbers: list[int] = []
    header, tag = (header[:-TAG], header[-TAG:]) if signed else (header, b"")
    at = 4
    while at < len(header) and len(numbers) < 3 + tables:
        number, at = _varlong(header, at)
        numbers.append(number)
    place, offset, window, *seen = numbers
    group = struct.unpack_from(f">{(len(header) - at) // 8}q", header, at)
    return Coordinates(header[:4], place, offset, window, tuple(seen), group, tag)


def _varlong(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins there, and where the next one does: zigzag, seven bits a byte, the lowest first."""
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        at += 1
        shift += 7
        if data[at - 1] < 0x80:
            return (number >> 1) ^ -(number & 1), at


def taken_apart(sent: bytes) -> tuple[bytes | None, int]:
    """The value and the time (ms, -1 for none) of what :func:`~ksqlpy.spark.once.sink_value` put together.

    The rest of it is left out.
    """
    length = int.from_bytes(sent[-4:], "big", signed=True)
    begin = len(sent) - 4 - (length & 0x7FFFFFFF)
    return sent[:begin] if length >= 0 else None, int.from_bytes(sent[begin : begin + 8], "big", signed=True)
