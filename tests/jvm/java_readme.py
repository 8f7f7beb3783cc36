"""The tables of ksqlpy/spark/jvm/README.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import ksqlpy.spark.jvm as jvm

FOLDER = Path(jvm.__file__).parent


class Internal(NamedTuple):
    """A class, or a package, that is not public: its name, the classes that use it, and why."""

    name: str
    users: list[str]
    reason: str


def sources() -> dict[str, str]:
    """The text of each class, by its name below ``ksqlpy``."""
    found = (file.relative_to(FOLDER) for file in FOLDER.rglob("*.java"))
    files = {name.with_suffix(""): FOLDER / name for name in found if name.parts[0] != "stubs"}
    return {".".join(name.parts): file.read_text(encoding="utf-8") for name, file in files.items()}


def stubs() -> list[Path]:
    """The files that stand in for Spark's classes while ours are compiled."""
    return sorted((FOLDER / "stubs").rglob("*.java"))


def classes() -> list[str]:
    """The classes of the first table, in its order."""
    return [row[0].strip("`") for row in _rows(2)]


def internals() -> list[Internal]:
    """The second table."""
    return [Internal(f"org.apache.{_words(a)[0]}", _words(b), c) for a, b, c in _rows(3)]


def _rows(width: int) -> list[list[str]]:
    lines = (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    return [row for row in rows if len(row) == width]


def _words(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)
