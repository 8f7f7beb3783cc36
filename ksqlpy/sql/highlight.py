"""The colours of the language: a Pygments lexer, made from the lists of words that the tokenizer reads.

``pygmentize -l ksql`` and every other program that uses Pygments find it by its name.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups, using, words
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from ksqlpy.grammar import by_place, non_reserved, reserved
from ksqlpy.sql.nodes import BUILT_IN_TYPES
from ksqlpy.sql.tokens import SYMBOLS

__all__ = ["KsqlLexer"]

_CONSTANTS = ("TRUE", "FALSE", "NULL")
_TYPES = (*BUILT_IN_TYPES, "DECIMAL", "ARRAY", "MAP", "STRUCT")
_BRACKETS = ("(", ")", "[", "]", ",", ".", ";")
_OPERATORS = [s for s in SYMBOLS if s not in _BRACKETS]
_END = r"(?![A-Za-z0-9_@])"


def _words(kind: Any, *which: str) -> tuple[Any, Any]:
    return words(sorted(which), suffix=_END), kind


_python: Any = bygroups(String.Heredoc, using(PythonLexer), String.Heredoc)  # type: ignore[no-untyped-call]
"""The colours of Python for what stands between $$ and $$."""


class KsqlLexer(RegexLexer):
    """Colours statements; text that is no statement comes out as written, with the errors marked."""

    name = "ksqlDB SQL"
    aliases: ClassVar[list[str]] = ["ksql", "ksqldb"]
    filenames: ClassVar[list[str]] = ["*.ksql"]
    flags = re.IGNORECASE | re.DOTALL

    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [
            (r"\s+", Whitespace),
            (r"--@[^\n]*", Comment.Special),
            (r"--[^\n]*", Comment.Single),
            (r"/\*.*?(?:\*/|\Z)", Comment.Multiline),
            (r"(\$\$)(.*?)(\$\$|\Z)", _python),
            (r"'", String.Single, "string"),
            (r"`", Name, "backtick"),
            (r'"', Name, "quoted"),
            (r"\$\{[a-z0-9_][a-z0-9_@]*\}", Name.Variable),
            (r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)e[+-]?[0-9]+" + _END, Number.Float),
            (r"(?:[0-9]+\.[0-9]*|\.[0-9]+)" + _END, Number.Float),
            (r"[0-9]+" + _END, Number.Integer),
            _words(Keyword.Constant, *_CONSTANTS),
            (words(sorted(reserved() - {"DECIMAL"}), suffix=_END), Keyword),
            # Where a bracket follows, every other word is the name of a function, or of a type.
            (words(("DECIMAL", "MAP", "STRUCT"), suffix=_END), Keyword.Type),
            (r"[a-z0-9_][a-z0-9_@]*(?=\s*\()", Name.Function),
            _words(Keyword.Type, *_TYPES),
            _words(Keyword.Pseudo, *non_reserved(), *by_place()),
            (r"[a-z0-9_][a-z0-9_@]*", Name),
            (words(_OPERATORS), Operator),
            (words(_BRACKETS), Punctuation),
        ],
        "string": [
            (r"''", String.Escape),
            (r"\$\{[a-z0-9_][a-z0-9_@]*\}", String.Interpol),
            (r"[^'$]+|\$", String.Single),
            (r"'", String.Single, "#pop"),
        ],
        "backtick": [(r"``|[^`$]+", Name), (r"\$\{[a-z0-9_@]+\}", Name.Variable), (r"\$", Name), (r"`", Name, "#pop")],
        "quoted": [(r'""|[^"$]+', Name), (r"\$\{[a-z0-9_@]+\}", Name.Variable), (r"\$", Name), (r'"', Name, "#pop")],
    }
