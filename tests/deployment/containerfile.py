"""The Containerfile of the server as instructions, for tests that look at them and that do what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CONTAINERFILE", "ROOT", "Instruction", "environment", "instructions"]

ROOT = Path(__file__).parents[2]
CONTAINERFILE = ROOT / "examples" / "container" / "Containerfile"


@dataclass(frozen=True)
class Instruction:
    """``stage``: its number; ``name`` in capital letters; ``text``: what follows, on one line."""

    stage: int
    name: str
    text: str


def instructions(file: Path = CONTAINERFILE) -> list[Instruction]:
    """The instructions of a Containerfile in order."""
    found: list[Instruction] = []
    stage = -1
    for line in _lines(file.read_text(encoding="utf-8")):
        matched = re.fullmatch(r"([A-Z]+)\s+(.+)", line)
        assert matched is not None, line
        stage += matched[1] == "FROM"
        found.append(Instruction(stage, matched[1], matched[2]))
    return found


def _lines(text: str) -> Iterator[str]:
    """Those that are no comments, each with the lines that go on with it."""
    whole = ""
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        whole += f"{line.strip().removesuffix(chr(92)).strip()} "
        if not line.endswith("\\"):
            yield whole.strip()
            whole = ""
    assert not whole, "the last line goes on"


def environment(found: list[Instruction]) -> dict[str, str]:
    """The variables that the last stage sets."""
    last = found[-1].stage
    texts = [i.text for i in found if i.name == "ENV" and i.stage == last]
    return dict(part.split("=", 1) for text in texts for part in text.split())
