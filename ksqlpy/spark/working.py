"""Which records the tasks of a JVM work on, out of a file that is there when the JVM has died."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

__all__ = ["Record", "Worked", "read_working"]

_SIZE, _QUERY, _TOPIC = 1024, 24, 512
_HEAD = struct.Struct(">iiqq")
_LENGTH = struct.Struct(">i")
_STATES = {1: "works", 2: "waits", 3: "left"}


class Record(NamedTuple):
    """Where a record lies."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


class Worked(NamedTuple):
    """The record that a task took last.

    ``state``: ``works`` while it works on it, ``waits`` when it waits for the next one since ``at`` (ms since 1970),
    ``left`` when the task ended at that time while it worked on it.
    """

    query: str
    record: Record
    state: str
    at: int


def read_working(file: Path) -> list[Worked]:
    """What ``jvm/source/Working.java`` has written; nothing where there is no file."""
    try:
        data = file.read_bytes()
    except OSError:
        return []
    found = []
    for begin in range(0, len(data) - _SIZE + 1, _SIZE):
        state, partition, offset, at = _HEAD.unpack_from(data, begin)
        if state in _STATES:
            record = Record(_text(data, begin + _TOPIC), partition, offset)
            found.append(Worked(_text(data, begin + _QUERY), record, _STATES[state], at))
    return found


def _text(data: bytes, at: int) -> str:
    [length] = _LENGTH.unpack_from(data, at)
    return data[at + 4 : at + 4 + length].decode(errors="replace")
