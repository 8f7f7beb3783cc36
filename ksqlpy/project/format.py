"""The formatter: one way to lay a file of statements out.

Keywords, types, functions and properties are written large, names as they are. A statement that fits has one line; else
each clause and each item of a list has one. Comments stay where they stand between the words. The layout follows from
the words and comments alone, so a formatted text is left as it is.

Source of the rules: this project's own.
"""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.errors import EngineProblem
from ksqlpy.project.comments import Gap, gaps_of
from ksqlpy.project.layout import layout_of
from ksqlpy.project.printing import printed
from ksqlpy.project.reading import pieces_of
from ksqlpy.sql.tokens import RESERVED, WORD, Token, tokenize

__all__ = ["format_sql"]


def format_sql(sql: str) -> str:
    """The text, formatted; it ends with a line end unless it is empty.

    Raises SyntaxProblem, with its place, for what is not of the language.
    """
    line_end = "\r\n" if "\r\n" in sql else "\n"
    sql = sql.removeprefix("\ufeff")
    tokens = tokenize(sql)
    gaps = gaps_of(tokens, sql)
    out: list[str] = []
    tall = False
    for piece in pieces_of(tokens, sql):
        size = len(piece.tokens)
        own = gaps[piece.first : piece.first + size]
        text = printed(piece.tokens, own, layout_of(piece.node, piece.tokens), sql)
        tall = _between(out, own[0], apart=tall or "\n" in text)
        out.append(text)
        tall = "\n" in text
    _between(out, gaps[-1], apart=False)
    result = "".join(out).strip("\n")
    if result:
        result += "\n"
    if line_end != "\n":
        result = result.replace("\r\n", "\n").replace("\n", line_end)
    _compare(tokens, gaps, sql, result)
    return result


def _between(out: list[str], gap: Gap, *, apart: bool) -> bool:
    """Ends the line of the statement before, and writes the comments up to the next one.

    ``apart``: an empty line belongs between both.
    """
    first = not out
    for comment in gap.comments:
        if comment.place == "TRAILING" and not first:
            out.append(f" {comment.text}")
        elif comment.place != "LEADING":
            out.append(("\n" if (comment.spaced or apart) and out else "") + ("\n" if out else "") + comment.text)
            apart = False
    if out:
        out.append("\n\n" if gap.spaced or apart else "\n")
    return False


def _compare(tokens: Sequence[Token], gaps: Sequence[Gap], sql: str, result: str) -> None:
    """Raises EngineProblem ``format-differs`` unless the result has the words and comments of the text, and no more.

    A fault of the formatter must not become a fault of the file.
    """
    again = tokenize(result)
    if _words(tokens) == _words(again) and _comments(gaps) == _comments(gaps_of(again, result)):
        return
    raise EngineProblem(
        "format-differs",
        "the formatter would change what the statements say, so it leaves them as they are",
        hint="please report it with the text",
    )


def _words(tokens: Sequence[Token]) -> list[tuple[object, str]]:
    return [(t.token_type, t.text.upper() if t.token_type in (WORD, RESERVED) else t.text) for t in tokens]


def _comments(gaps: Sequence[Gap]) -> list[str]:
    return [c.text for gap in gaps for c in gap.comments]
