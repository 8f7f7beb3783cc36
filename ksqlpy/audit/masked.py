"""Statements without what may be secret: each literal is replaced, comments are left out."""

from __future__ import annotations

import hashlib
import secrets

from ksqlpy.errors import SyntaxProblem
from ksqlpy.sql.tokens import IDENTIFIER, NUMBER, SOURCE_TEXT, STRING, tokenize

__all__ = ["digest", "masked"]

TEXT, VALUE, TRUTH, NAME = "'[string]'", "0", "FALSE", "`[name]`"
"""What stands for literals, as in ksqlDB's log of queries."""

_KEY = secrets.token_bytes(32)


def masked(text: str, *, names: bool = False) -> str | None:
    """A statement that parses, on one line, with its literals masked; None where it cannot be read.

    ``names``: masks names in quotes, too: where a statement fails, a text in the wrong quotes is taken for a name.
    """
    try:
        tokens = tokenize(text)
    except SyntaxProblem:
        return None
    pieces: list[str] = []
    end = 0
    for token in tokens:
        if pieces and token.start > end:
            pieces.append(" ")
        if token.token_type in (STRING, SOURCE_TEXT):
            pieces.append(TEXT)
        elif token.token_type is NUMBER:
            pieces.append(VALUE)
        elif token.token_type is not IDENTIFIER and token.text.upper() in ("TRUE", "FALSE"):
            pieces.append(TRUTH)
        elif names and token.token_type is IDENTIFIER:
            pieces.append(NAME)
        else:
            pieces.append(" ".join(text[token.start : token.end + 1].split()))
        end = token.end + 1
    return "".join(pieces)


def digest(text: str) -> str:
    """A digest of what does not parse: equal texts have equal ones, as long as the process lives.

    With a key of the process, or a short text could be found by trying.
    """
    return hashlib.blake2b(text.encode(errors="surrogatepass"), key=_KEY, digest_size=16).hexdigest()
