"""Times as text, by the patterns of TIMESTAMP_FORMAT, so far as they are made of the usual letters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime

from ksqlpy.errors import ConfigProblem

__all__ = ["time_text"]

_PIECES = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")

_LETTERS: Mapping[str, Callable[[datetime, int], str]] = {
    "y": lambda t, n: f"{t.year % 100:02}" if n == 2 else f"{t.year:0{n}}",
    "u": lambda t, n: f"{t.year % 100:02}" if n == 2 else f"{t.year:0{n}}",
    "M": lambda t, n: f"{t.month:0{n}}" if n < 3 else t.strftime("%b" if n == 3 else "%B"),
    "d": lambda t, n: f"{t.day:0{n}}",
    "H": lambda t, n: f"{t.hour:0{n}}",
    "m": lambda t, n: f"{t.minute:0{n}}",
    "s": lambda t, n: f"{t.second:0{n}}",
    "S": lambda t, n: f"{t.microsecond:06}000"[:n],
    "X": lambda t, n: "Z",
    "x": lambda t, n: "+00:00"[: 3 if n == 1 else 6].replace(":", "" if n == 2 else ":"),
    "Z": lambda t, n: "+0000",
    "z": lambda t, n: "UTC",
}


def time_text(time: datetime, pattern: str) -> str:
    """A time in UTC by a Java pattern (java.time.format.DateTimeFormatter).

    Raises ConfigProblem ``time-pattern`` for a letter that is not among y, u, M, d, H, m, s, S, X, x, Z, z.
    """
    out = []
    for piece in _PIECES.finditer(pattern):
        letter = piece[2]
        if letter is None:
            out.append(piece[0] if piece[1] is None else piece[1].replace("''", "'") or "'")
        elif letter in _LETTERS:
            out.append(_LETTERS[letter](time, len(piece[0])))
        else:
            raise ConfigProblem(
                "time-pattern",
                f"times by the pattern {pattern!r} cannot be invented: the letter {letter}",
                hint="take rows from a file with --from, or write times with y, M, d, H, m, s, S, X",
            )
    return "".join(out)
