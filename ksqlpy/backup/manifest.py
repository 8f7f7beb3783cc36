"""The manifest of a backup: what it is of, and all its files with their sizes and SHA-256. It is written last."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from ksqlpy.errors import EngineProblem

__all__ = ["FORMAT", "File", "Manifest", "damaged"]

_SHA256 = re.compile(r"[0-9a-f]{64}")

FORMAT = 1
"""That of backups which this version writes; a later one may be another."""


@dataclass(frozen=True)
class File:
    """A file of the backup. ``modified``: when the original was changed, by which it is known again next time."""

    size: int
    sha256: str
    modified: int = 0


@dataclass(frozen=True)
class Manifest:
    """A backup. ``name``: of its folder; ``made``: the time; ``ksqlpy``, ``spark``: the versions that made it.

    ``cluster``, ``service``: of what; ``log``: the topic of the command log, its id, its largest record, and its first
    and next offset; ``queries``: by id the batch after which each goes on, None before its first; ``warnings``: what is
    not in it; ``files``: by their path.
    """

    name: str
    made: str
    ksqlpy: str
    spark: str
    cluster: str
    service: str
    log: Mapping[str, Any]
    queries: Mapping[str, int | None]
    warnings: tuple[str, ...] = ()
    files: Mapping[str, File] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(f.size for f in self.files.values())

    def write(self) -> bytes:
        """As a file, which ends with the SHA-256 of what is before it."""
        content = {"format": FORMAT, **asdict(self)}
        return json.dumps({**content, "check": _check(content)}, indent=1, sort_keys=True).encode() + b"\n"

    @classmethod
    def read(cls, data: bytes, where: str) -> Manifest:
        """The inverse of :meth:`write`. Raises EngineProblem ``backup-damaged``, ``backup-version``."""
        try:
            content: Any = json.loads(data)
            if not isinstance(content, dict):
                raise ValueError
        except (ValueError, RecursionError) as e:
            raise damaged(where, "its manifest cannot be read") from e
        if content.get("format") != FORMAT:
            raise EngineProblem(
                "backup-version",
                f"the backup {where} is of format {content.get('format')}, this version of ksqlpy reads {FORMAT}",
                hint="restore it with the version of ksqlpy that made it, or a later one",
            )
        check = content.pop("check", None)
        if check != _check(content):
            raise damaged(where, "its manifest is not as it was written")
        del content["format"]
        try:
            content["files"] = {path: File(**told) for path, told in content["files"].items()}
            found = cls(**{**content, "warnings": tuple(content["warnings"])})
        except (TypeError, KeyError, AttributeError) as e:
            raise damaged(where, f"its manifest lacks some of {', '.join(f.name for f in fields(cls))}") from e
        # Whoever wrote it must not say where else files are read and written.
        for path, file in found.files.items():
            if {"", ".", ".."} & set(path.split("/")) or not _SHA256.fullmatch(file.sha256):
                raise damaged(where, f"its manifest names a file {path}")
        return found


def damaged(where: str, why: str, place: str = "") -> EngineProblem:
    """A backup that cannot be used. ``place``: of its file that is damaged, in the folder of backups."""
    hint = "use another backup: --backup NAME names an older one; `ksqlpy restore … --list` shows them"
    if place:
        hint += f"; with {place} removed, the next backup writes that file again if it still has it"
    return EngineProblem("backup-damaged", f"the backup {where} is damaged: {why}", hint=hint)


def _check(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
