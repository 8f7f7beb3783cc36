"""SQL test files: cases begin at ``--@test: name``, say what error they expect, and assert in between.

    --@test: rides are copied
    CREATE STREAM rides (id INT KEY, fare INT) WITH (kafka_topic='rides', value_format='JSON');
    CREATE STREAM copies AS SELECT * FROM rides;
    INSERT INTO rides (id, fare) VALUES (1, 20);
    ASSERT VALUES copies (id, fare) VALUES (1, 20);

Further directives: ``--@expected.error: class`` and ``--@expected.message: text``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SqlCase", "read_sql_folder", "statements_of"]

_DIRECTIVE = re.compile(r"^\s*--@([\w.]+)\s*:\s*(.*?)\s*$")


@dataclass(frozen=True)
class SqlCase:
    """One case of a SQL test file. ``error``: the Java class that is expected; ``message``: of it."""

    file: str
    name: str
    sql: str
    error: str = ""
    message: str = ""

    @property
    def full_name(self) -> str:
        """What the report and ``--filter`` call the case."""
        return f"{self.file} - {self.name}"

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats that the statements name, in order."""
        found = re.findall(r"\b(?:KEY_|VALUE_)?FORMAT\s*=\s*'(\w+)'", self.sql, re.IGNORECASE)
        return tuple(dict.fromkeys(f.upper() for f in found))


def read_sql_folder(folder: Path) -> Iterator[SqlCase]:
    """The cases of all SQL files below a folder."""
    for file in sorted(folder.rglob("*.sql")):
        found: dict[str, str] = {}
        lines: list[str] = []
        name = file.relative_to(folder).with_suffix("").as_posix()
        for line in [*file.read_text(encoding="utf-8").splitlines(), "--@test:"]:
            directive = _DIRECTIVE.match(line)
            if directive is None:
                lines.append(line)
                continue
            if directive[1] == "test":
                if "test" in found and statements_of("\n".join(lines)):
                    yield SqlCase(
                        name,
                        found["test"],
                        "\n".join(lines),
                        found.get("expected.error", ""),
                        found.get("expected.message", ""),
                    )
                found, lines = {}, []
            found[directive[1]] = directive[2]


_PIECES = re.compile(r"'(?:[^']|'')*'|`[^`]*`|--[^\n]*|/\*.*?\*/|;|[^'`;/-]+|.", re.DOTALL)


def statements_of(sql: str) -> list[str]:
    """The statements of a text with their semicolons, without comments."""
    found, text = [], ""
    for piece in _PIECES.findall(sql):
        if piece.startswith(("--", "/*")):
            continue
        text += piece
        if piece == ";":
            found.append(text.strip())
            text = ""
    return [*found, text.strip() + ";"] if text.strip() else found
