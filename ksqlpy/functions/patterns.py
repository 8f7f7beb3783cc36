"""Whether a text is a pattern of Java's DateTimeFormatter, told without a JVM."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["is_pattern"]

_ANY = "1-19"
_COUNTS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys("GMLQqEeXxZ", "1-5"),
        **dict.fromkeys("uyYAnNg", _ANY),
        **dict.fromkeys("dwhHkKms", "1-2"),
        **dict.fromkeys("WFa", "1"),
        **dict.fromkeys("Ov", "1 4"),
        "D": "1-3",
        "c": "1 3-5",
        "B": "1 4-5",
        "S": "1-9",
        "V": "2",
        "z": "1-4",
    }
)
"""How often each letter may stand in a row (Java, DateTimeFormatterBuilder.appendPattern)."""

_PIECE = re.compile(r"'(?:[^']|'')*'|(p*)(([A-Za-z])\3*)|p+|.", re.DOTALL)


def is_pattern(text: str) -> bool:
    """Whether Java takes the text as a pattern: known letters, ended quotations, brackets in pairs."""
    depth = 0
    for piece in _PIECE.finditer(text):
        run, letter = piece[2], piece[3]
        if run is not None:
            if not any(_within(len(run), counts) for counts in _COUNTS.get(letter, "").split()):
                return False
        elif piece[0][0] == "p" or piece[0] in "'{}#":
            return False
        depth += (piece[0] == "[") - (piece[0] == "]")
        if depth < 0:
            return False
    return True


def _within(count: int, counts: str) -> bool:
    least, _, most = counts.partition("-")
    return int(least) <= count <= int(most or least)
