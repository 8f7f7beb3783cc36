"""A text in pieces, by the dialect's own tokens: so a semicolon in a string or comment ends nothing."""

from __future__ import annotations

from dataclasses import dataclass

from ksqlpy.errors import Span, SyntaxProblem

__all__ = ["Piece", "is_push", "is_whole", "split"]


@dataclass(frozen=True)
class Piece:
    """A statement of a text.

    ``text``: as written, with its semicolon; ``start``: where it begins; ``words``: its words in upper case and its
    symbols, with '' for a string, a backtick for a quoted name and $$ for a text of Python; ``literals``: its strings
    and where they stand.
    """

    text: str
    start: int
    words: tuple[str, ...]
    literals: tuple[tuple[str, Span], ...]


def split(sql: str, complete: bool = False) -> list[Piece]:
    """The statements of a text, by its semicolons only: the server says what they mean.

    ``complete``: adds the last semicolon if it is missing. Raises SyntaxProblem for what has no tokens.
    """
    from ksqlpy.sql.tokens import IDENTIFIER, SOURCE_TEXT, STRING, SYMBOLS, tokenize

    special = {STRING: "", IDENTIFIER: "`", SOURCE_TEXT: "$$"}
    pieces = []
    tokens = tokenize(sql)
    first = 0
    for index, token in enumerate(tokens):
        ends = token.token_type is SYMBOLS[";"]
        if not ends and index + 1 < len(tokens):
            continue
        part = tokens[first : index + 1]
        text = sql[part[0].start : token.end + 1]
        words = tuple(special.get(t.token_type, t.text.upper()) for t in part)
        literals = tuple((t.text, Span(t.start, t.end + 1)) for t in part if t.token_type is STRING)
        if words != (";",):
            pieces.append(Piece(text if ends or not complete else f"{text};", part[0].start, words, literals))
        first = index + 1
    return pieces


def is_push(piece: Piece) -> bool:
    """Whether a statement is a push query, whose rows have no end of their own."""
    return piece.words[0] in ("SELECT", "WITH") and "EMIT" in piece.words


def is_whole(text: str) -> bool:
    """Whether the last statement of a text has its end: a semicolon outside of strings, quoted names and comments.

    So has a text without a statement. What can never become whole counts as whole, so that its error is shown.
    """
    from ksqlpy.sql.tokens import SYMBOLS, tokenize

    try:
        tokens = tokenize(text)
    except SyntaxProblem as e:
        return not e.code.startswith("unterminated") and text.rstrip().endswith(";")
    return not tokens or tokens[-1].token_type is SYMBOLS[";"]
