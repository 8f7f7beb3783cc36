"""The statements of a file for the formatter: tokens as they stand, with the tree that says what each of them is.

A reference ``${x}`` has no value here. It stands for a name or a literal, and which of them only the parser knows, so
it is read as the first of both that fits its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ksqlpy.errors import SyntaxProblem
from ksqlpy.sql.statements import Statements
from ksqlpy.sql.tokens import NUMBER, STRING, SYMBOLS, VARIABLE, WORD, Token

__all__ = ["Piece", "pieces_of"]

_STANDS_FOR = (WORD, STRING, NUMBER)


@dataclass(frozen=True)
class Piece:
    """A statement: its tokens up to its semicolon, the number of the first of them in the file, and its tree."""

    tokens: Sequence[Token]
    first: int
    node: exp.Expr


def pieces_of(tokens: Sequence[Token], sql: str) -> Iterator[Piece]:
    """The statements of a tokenized text; raises SyntaxProblem."""
    first = 0
    for index, token in enumerate(tokens):
        if token.token_type is SYMBOLS[";"] or index + 1 == len(tokens):
            part = tokens[first : index + 1]
            yield Piece(part, first, _tree(list(part), sql))
            first = index + 1


def _tree(tokens: list[Token], sql: str) -> exp.Expr:
    kinds = {index: 0 for index, t in enumerate(tokens) if t.token_type == VARIABLE}
    while True:
        stood = list(tokens)
        for index, kind in kinds.items():
            stood[index] = _placeholder(tokens[index], kind)
        reader = Statements(stood, sql)
        try:
            node = reader.statement()
            reader.end()
            return node
        except SyntaxProblem as e:
            start = e.span.start if e.span is not None else -1
            wrong = next((i for i in kinds if tokens[i].start == start and kinds[i] + 1 < len(_STANDS_FOR)), None)
            if wrong is None:
                raise
            kinds[wrong] += 1


def _placeholder(token: Token, kind: int) -> Token:
    text = "1" if _STANDS_FOR[kind] is NUMBER else "X"
    return Token(_STANDS_FOR[kind], text, token.line, token.col, token.start, token.end)
