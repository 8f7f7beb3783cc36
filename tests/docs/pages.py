"""What the pages of the documentation tell a reader to type, in the order of reading: commands, and statements."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ROOT", "Piece", "commands", "pages", "pieces"]

ROOT = Path(__file__).parents[2]

_COMMAND = re.compile(r"    (?:ksqlpy (?=[-a-z])|make |docker |helm |kubectl |kill )")
"""How a line of a block of commands begins; ``ksqlpy 0.2.0`` is what the shell prints."""


@dataclass(frozen=True)
class Piece:
    """A block of a page: ``kind`` is ``commands``, or the language of a fence; ``text``: what is to be typed."""

    kind: str
    text: str


def pages() -> list[str]:
    """Those for users, which say what to type."""
    found = [
        ROOT / "README.md",
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "examples").glob("*/README.md")),
    ]
    return [str(p.relative_to(ROOT)) for p in found]


def pieces(page: str) -> list[Piece]:
    """The blocks of a page in order."""
    found: list[Piece] = []
    lines = iter((ROOT / page).read_text(encoding="utf-8").split("\n"))
    block: list[str] = []
    for line in lines:
        if line.startswith("```"):
            text = []
            while not (inner := next(lines)).startswith("```"):
                text.append(inner)
            found.append(Piece(line.removeprefix("```"), "\n".join(text)))
        elif line.startswith("    "):
            block.append(line)
            continue
        if block and _COMMAND.match(block[0]):
            found.append(Piece("commands", "\n".join(b[4:] for b in block)))
        block = []
    return found


def commands(text: str) -> list[str]:
    """The commands of a block, each with all its lines."""
    found: list[str] = []
    open_ = ""
    for line in text.split("\n"):
        open_ = f"{open_}\n{line}" if open_ else line
        try:
            shlex.split(open_, comments=True)
        except ValueError:  # a quote that is open
            continue
        if not open_.endswith("\\"):
            found.append(open_)
            open_ = ""
    assert not open_, f"a command without its end: {open_}"
    return found
