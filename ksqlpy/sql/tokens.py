"""Text to tokens, by the lexical rules of ksqlDB.

Source of the rules: ksqlDB manual, "Lexical structure". The tokens are sqlglot's own class, so that
``sqlglot.tokenize(sql, read="ksql")`` works too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from sqlglot import tokens
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]  # public, but not marked as exported

from ksqlpy.errors import Span, SyntaxProblem
from ksqlpy.grammar import reserved

__all__ = [
    "IDENTIFIER",
    "NUMBER",
    "RESERVED",
    "SOURCE_TEXT",
    "STRING",
    "VARIABLE",
    "WORD",
    "KsqlTokenizer",
    "Parameter",
    "Token",
    "parameters",
    "tokenize",
]

STRING = TokenType.STRING
NUMBER = TokenType.NUMBER
IDENTIFIER = TokenType.IDENTIFIER
WORD = TokenType.VAR
VARIABLE = TokenType.PARAMETER
"""A reference ``${name}``."""
SOURCE_TEXT = TokenType.HEREDOC_STRING
"""A text between $$ and $$, exactly as it stands there: no quote in it is doubled, no variable replaced."""
RESERVED = TokenType.COMMAND
"""One type for all reserved words: the parser tells them apart by their text."""

SYMBOLS: Mapping[str, TokenType] = MappingProxyType(
    {
        "->": TokenType.ARROW,
        "=>": TokenType.FARROW,
        ":=": TokenType.COLON_EQ,
        "<>": TokenType.NEQ,
        "!=": TokenType.NEQ,
        "<=": TokenType.LTE,
        ">=": TokenType.GTE,
        "||": TokenType.DPIPE,
        "-": TokenType.DASH,
        "+": TokenType.PLUS,
        "*": TokenType.STAR,
        "/": TokenType.SLASH,
        "%": TokenType.MOD,
        "=": TokenType.EQ,
        "<": TokenType.LT,
        ">": TokenType.GT,
        "(": TokenType.L_PAREN,
        ")": TokenType.R_PAREN,
        "[": TokenType.L_BRACKET,
        "]": TokenType.R_BRACKET,
        ",": TokenType.COMMA,
        ".": TokenType.DOT,
        ";": TokenType.SEMICOLON,
    }
)
"""Extension point: the longer symbols stand first."""

# The look-ahead after a closing quote keeps an unterminated 'a''b from being read as 'a' and a rest.
_TOKEN = re.compile(
    r"""
      (?P<blank>[ \t\r\n]+)
    | (?P<comment>--[^\n]*|/\*.*?\*/)
    | (?P<string>'[^']*(?:''[^']*)*'(?!'))
    | (?P<quoted>`[^`]*(?:``[^`]*)*`(?!`)|"[^"]*(?:""[^"]*)*"(?!"))
    | (?P<source>\$\$.*?\$\$)
    | (?P<open>'|`|"|/\*|\$\$)
    | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![A-Za-z0-9_@]))
    | (?P<word>[A-Za-z0-9_][A-Za-z0-9_@]*)
    | (?P<variable>\$\{[A-Za-z0-9_][A-Za-z0-9_@]*\})
    | (?P<symbol>"""
    + "|".join(re.escape(s) for s in SYMBOLS)
    + ")",
    re.VERBOSE | re.DOTALL,
)

_UNTERMINATED: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "'": ("unterminated-string", "string", "close it with ', and write a quote inside it twice"),
        "`": ("unterminated-identifier", "quoted name", "close it with `, and write a quote inside it twice"),
        '"': ("unterminated-identifier", "quoted name", 'close it with ", and write a quote inside it twice'),
        "/*": ("unterminated-comment", "comment", "close it with */"),
        "$$": ("unterminated-source", "text", "close it with $$"),
    }
)


def tokenize(sql: str) -> list[Token]:
    """The tokens of ``sql`` without blanks and comments; words keep the case in which they are written.

    Raises SyntaxProblem for an unterminated string, name or comment and for a character outside the language.
    """
    words = reserved()
    result: list[Token] = []
    position, size, line, line_start = 0, len(sql), 1, 0
    match = _TOKEN.match
    while position < size:
        found = match(sql, position)
        if found is None:
            raise _bad_character(sql, position)
        kind, text, end = found.lastgroup, found.group(), found.end()
        if kind == "open":
            raise _unterminated(sql, position, end)
        if kind not in ("blank", "comment"):
            token_type = WORD
            if kind == "symbol":
                token_type = SYMBOLS[text]
            elif kind == "number":
                token_type = NUMBER
            elif kind == "variable":
                token_type = VARIABLE
            elif kind == "word":
                token_type = RESERVED if text.upper() in words else WORD
            elif kind == "source":
                token_type, text = SOURCE_TEXT, text[2:-2]
            else:
                token_type = STRING if kind == "string" else IDENTIFIER
                text = text[1:-1].replace(text[0] * 2, text[0])
            result.append(Token(token_type, text, line, end - line_start, position, end - 1))
        if kind in ("blank", "comment", "string", "quoted", "source"):
            breaks = sql.count("\n", position, end)
            if breaks:
                line += breaks
                line_start = sql.rindex("\n", position, end) + 1
        position = end
    return result


@dataclass(frozen=True, slots=True)
class Parameter:
    """A ``:name`` of a text. ``operand``: whether what stands before it can end an operand."""

    name: str
    span: Span
    operand: bool


_VALUES = frozenset(("END", "NULL", "TRUE", "FALSE"))
"""Reserved words that end an operand."""
_PARAMETER = re.compile(r":([A-Za-z_][A-Za-z0-9_]*)")


def parameters(sql: str) -> list[Parameter]:
    """Where a text has parameters ``:name``, which are not of the language: a program binds values to them.

    A colon in a string, in a quoted name, in a comment, or directly behind a word or another colon is none; other
    characters that are not of the language are left to :func:`tokenize`. Raises SyntaxProblem for what never ends.
    """
    result: list[Parameter] = []
    words = reserved()
    position, size, operand, touching = 0, len(sql), False, False
    while position < size:
        found = _TOKEN.match(sql, position)
        if found is None:
            named = None if touching else _PARAMETER.match(sql, position)
            end = position + 1 if named is None else named.end()
            if named is not None:
                result.append(Parameter(named[1], Span(position, end), operand))
            operand, touching = named is not None, named is None
        else:
            kind, text, end = found.lastgroup, found.group(), found.end()
            if kind == "open":
                raise _unterminated(sql, position, end)
            if kind in ("blank", "comment"):
                touching = False
            else:
                touching = kind in ("word", "number", "variable")
                word = text.upper()
                operand = text in (")", "]") if kind == "symbol" else word not in words or word in _VALUES
        position = end
    return result


def _unterminated(sql: str, position: int, end: int) -> SyntaxProblem:
    code, what, hint = _UNTERMINATED[sql[position:end]]
    return SyntaxProblem(code, f"the {what} that starts here never ends", span=Span(position, end), sql=sql, hint=hint)


def _bad_character(sql: str, position: int) -> SyntaxProblem:
    char = sql[position]
    shown = char if char.isprintable() else f"U+{ord(char):04X}"
    hint = "names with other characters than letters, digits, _ and @ need quotes: `name`"
    return SyntaxProblem(
        "unexpected-character",
        f"unexpected character {shown}",
        span=Span(position, position + 1),
        sql=sql,
        hint=hint if char.isalpha() else None,
    )


class KsqlTokenizer(tokens.Tokenizer):
    """The tokenizer in the form in which sqlglot wants it."""

    IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ["`", '"']

    def tokenize(self, sql: str) -> list[Token]:
        """See :func:`tokenize`."""
        return tokenize(sql)
