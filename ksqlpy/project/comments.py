"""The comments of a text, which the tokenizer leaves out: where they stand between the tokens.

A comment belongs to the gap ahead of a token. How it lies there says how it is printed again: ``TRAILING`` at the end
of a line, ``OWN`` on lines of its own, ``LEADING`` with the next token right behind it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ksqlpy.sql.tokens import Token

__all__ = ["Comment", "Gap", "gaps_of"]

Place = Literal["TRAILING", "OWN", "LEADING"]

_PIECE = re.compile(r"(?P<blank>[ \t\r\n]+)|(?P<comment>--[^\n]*|/\*.*?\*/)", re.DOTALL)


@dataclass(frozen=True)
class Comment:
    """A comment as written, without blanks at its end; ``spaced``: an empty line stands ahead of it."""

    text: str
    place: Place
    spaced: bool = False


@dataclass(frozen=True)
class Gap:
    """What stands ahead of a token; ``spaced``: an empty line stands right ahead of the token."""

    comments: tuple[Comment, ...] = ()
    spaced: bool = False

    @property
    def breaks(self) -> bool:
        """Whether a new line must begin here."""
        return any(c.place != "LEADING" for c in self.comments)


def gaps_of(tokens: Sequence[Token], sql: str) -> list[Gap]:
    """The gaps ahead of the tokens, and the one behind the last of them.

    A comment at the end of a line that stands ahead of a comma or semicolon is put behind it: there it belongs to the
    same line still.
    """
    gaps, done = [], 0
    for index in range(len(tokens) + 1):
        start = tokens[index].start if index < len(tokens) else len(sql)
        gaps.append(_gap(sql[done:start], first=index == 0, last=index == len(tokens)))
        done = tokens[index].end + 1 if index < len(tokens) else start
    for index, token in enumerate(tokens):
        gap, after = gaps[index], gaps[index + 1]
        movable = gap.breaks and all(c.place == "TRAILING" for c in gap.comments)
        if index and token.text in (",", ";") and movable and not any(c.place == "TRAILING" for c in after.comments):
            gaps[index] = Gap()
            gaps[index + 1] = Gap((*gap.comments, *after.comments), after.spaced)
    return gaps


def _gap(text: str, *, first: bool, last: bool) -> Gap:
    found: list[tuple[str, int]] = []  # each comment with the number of line ends ahead of it
    breaks: list[bool] = []  # whether a line ends right behind each comment
    lines = 0
    for piece in _PIECE.finditer(text):
        if piece["blank"]:
            lines += piece["blank"].count("\n")
            if breaks:
                breaks[-1] = breaks[-1] or "\n" in piece["blank"]
        else:
            comment = piece["comment"].rstrip()
            found.append((comment, lines))
            breaks.append(comment.startswith("--") or "\n" in comment)
            lines = 0
    if last and breaks:
        breaks[-1] = True
    comments = []
    begun = first  # whether a line has begun since the token before
    for index, (comment, before) in enumerate(found):
        begun = begun or before > 0 or "\n" in comment
        place: Place = "OWN" if begun else "TRAILING"
        if "\n" not in comment and not any(breaks[index:]):
            place = "LEADING"
        comments.append(Comment(comment, place, spaced=before > 1))
        begun = begun or breaks[index]
    return Gap(tuple(comments), spaced=lines > 1)
