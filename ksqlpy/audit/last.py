"""The last lines of an audit log, from where it is written."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ksqlpy.config import Config
from ksqlpy.errors import ConfigProblem, file_reason

__all__ = ["last_entries"]

LOOKED = 2**20
"""Bytes at the end of a file in which lines are looked for."""

WAIT = 10.0
"""Seconds for which the records of the topic are waited for."""


def last_entries(config: Config, most: int) -> tuple[str | None, list[dict[str, Any]]]:
    """``file`` or ``topic``, and its last lines, the newest first; None where there is no audit log.

    The file comes first, if there are both: it needs no broker. Lines of reader processes are among them. Raises
    ConfigProblem ``audit-file``, EnvironmentProblem ``broker-unavailable``.
    """
    if file := config.get("ksqlpy.audit.file"):
        return "file", _newest(_of_files(Path(file), most), most)
    if config.get("ksqlpy.audit.topic") == "true":
        from ksqlpy.audit.topic import last_records  # Kafka's clients are slow to import

        return "topic", _newest(last_records(config.connection(), config.get("ksql.service.id"), most, WAIT), most)
    return None, []


def _newest(lines: Iterable[bytes], most: int) -> list[dict[str, Any]]:
    entries = [entry for line in lines if (entry := _entry(line)) is not None]
    return sorted(entries, key=lambda entry: entry["time"], reverse=True)[:most]


def _entry(line: bytes) -> dict[str, Any] | None:
    """A line as it was written; None for what something else has written."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("time"), str) else None


def _of_files(file: Path, most: int) -> Iterator[bytes]:
    """Of the server's file and of those of its readers; where one has begun a moment ago, also of the one before."""
    writers = re.compile(rf"{re.escape(file.name)}(\.reader-\d+)?")
    try:
        for one in sorted(other for other in file.parent.iterdir() if writers.fullmatch(other.name)):
            lines = _tail(one)
            if len(lines) < most and (before := one.with_name(f"{one.name}.1")).exists():
                lines = [*_tail(before), *lines]
            yield from lines[-most:]
    except OSError as e:
        raise ConfigProblem("audit-file", f"the audit log {file} cannot be read: {file_reason(e)}") from e


def _tail(file: Path) -> list[bytes]:
    with file.open("rb") as opened:
        begin = max(0, opened.seek(0, os.SEEK_END) - LOOKED)
        opened.seek(begin)
        lines = opened.read(LOOKED).split(b"\n")
    return lines[1 if begin else 0 : -1]  # without parts of lines
