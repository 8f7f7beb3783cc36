"""A position in a list of tokens, with what would have been accepted there: the base of the parser."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar

from sqlglot import exp

from ksqlpy.errors import Span, SyntaxProblem, similar_names
from ksqlpy.grammar import reserved
from ksqlpy.sql.tokens import IDENTIFIER, NUMBER, RESERVED, SOURCE_TEXT, STRING, VARIABLE, WORD, Token

__all__ = ["Cursor"]

_CONNECTING = frozenset(
    ("FROM", "WHERE", "ON", "GROUP", "BY", "HAVING", "LIMIT", "AS", "AND", "OR", "WHEN", "THEN", "ELSE", "END")
)
"""Reserved words before which rather something is missing than that they are meant as names."""

N = TypeVar("N", bound=exp.Expr)

_SHOWN = 4
"""So many expectations fit into the sentence; a longer list goes into the hint."""


class Cursor:
    """Reads tokens from left to right and remembers at the furthest place what it looked for.

    Words and symbols are compared by their upper-case text; strings, quoted names and numbers have the empty text and
    therefore never equal a keyword.
    """

    def __init__(self, tokens: list[Token], sql: str) -> None:
        self.tokens = tokens
        self.sql = sql
        self.index = 0
        quiet = (STRING, SOURCE_TEXT, IDENTIFIER, NUMBER, VARIABLE)
        # Two empty texts at the end save the bounds checks of a look-ahead.
        self._texts = ["" if t.token_type in quiet else t.text.upper() for t in tokens] + ["", "", "", ""]
        self._wanted: list[str] = []
        self._wanted_at = -1

    # ------------------------------------------------------------ looking

    @property
    def done(self) -> bool:
        """Whether all tokens are read."""
        return self.index >= len(self.tokens)

    @property
    def text(self) -> str:
        """The word or symbol here, in upper case; empty for other tokens and at the end."""
        return self._texts[self.index]

    def ahead(self, steps: int) -> str:
        """The word or symbol ``steps`` tokens further on."""
        position = self.index + steps
        return self._texts[position] if position < len(self._texts) else ""

    def is_type(self, *types: Any, steps: int = 0) -> bool:
        """Whether the token ``steps`` further on is of one of the token types."""
        position = self.index + steps
        return position < len(self.tokens) and self.tokens[position].token_type in types

    def is_name(self, steps: int = 0) -> bool:
        """Whether a name stands there: a plain word or a quoted one."""
        return self.is_type(WORD, IDENTIFIER, steps=steps)

    def at(self, *words: str) -> bool:
        """Whether these words or symbols come next; if not, they are noted as what could stand here."""
        texts, index = self._texts, self.index
        if texts[index] == words[0] and (len(words) == 1 or all(self.ahead(k) == w for k, w in enumerate(words))):
            return True
        self.want(" ".join(words))
        return False

    def want(self, what: str) -> None:
        """Notes that ``what`` could stand here."""
        if self._wanted_at != self.index:
            self._wanted_at = self.index
            self._wanted = []
        if what not in self._wanted:
            self._wanted.append(what)

    # ------------------------------------------------------------ reading

    def accept(self, *words: str) -> bool:
        """Reads these words or symbols if they come next."""
        if self.at(*words):
            self.index += len(words)
            return True
        return False

    def accept_any(self, words: Iterable[str]) -> str:
        """Reads the one of ``words`` that comes next and returns it; else the empty text."""
        for word in words:
            if self.accept(word):
                return word
        return ""

    def expect(self, *words: str) -> None:
        """Reads these words or symbols; raises SyntaxProblem if others come next."""
        if not self.accept(*words):
            # Of GROUP BY with another word than BY, the second word is the one to complain about.
            for k, word in enumerate(words[:-1]):
                if self.ahead(0) != word:
                    break
                self.index += 1
                self.want(" ".join(words[k + 1 :]))
            self.fail()

    def next(self) -> Token:
        """Reads any token."""
        token = self.tokens[self.index]
        self.index += 1
        return token

    def name(self, what: str = "a name") -> exp.Identifier:
        """Reads a name, folded to upper case if it is not quoted; raises SyntaxProblem if none stands here."""
        if not self.is_name():
            self.want(what)
            self.fail_at_operand()
        begin = self.index
        token = self.next()
        return self.identifier(token, begin)

    def identifier(self, token: Token, begin: int) -> exp.Identifier:
        """The Identifier of a name token."""
        name = token.text if token.token_type == IDENTIFIER else token.text.upper()
        if not name:
            self.fail_at(begin, "empty-name", "a name needs at least one character")
        return self.placed(exp.Identifier(this=name, quoted=needs_quotes(name)), begin)

    def string(self, what: str = "a string") -> exp.Literal:
        """Reads a string; raises SyntaxProblem if none stands here."""
        if not self.is_type(STRING):
            self.want(what)
            self.fail()
        begin = self.index
        return self.placed(exp.Literal.string(self.next().text), begin)

    def placed(self, node: N, begin: int) -> N:
        """``node`` with the offsets of the tokens from ``begin`` to the one read last."""
        first, last = self.tokens[begin], self.tokens[self.index - 1]
        meta = node.meta
        meta["start"], meta["end"] = first.start, last.end
        return node

    # ------------------------------------------------------------ complaining

    def span(self, begin: int) -> Span:
        """The place of a token; behind the last one, the place right after it."""
        if begin < len(self.tokens):
            return Span(self.tokens[begin].start, self.tokens[begin].end + 1)
        end = self.tokens[-1].end + 1 if self.tokens else 0
        return Span(end, end)

    def fail_at(self, begin: int, code: str, message: str, *, hint: str | None = None) -> NoReturn:
        """Raises a SyntaxProblem at a token."""
        raise SyntaxProblem(code, message, span=self.span(begin), sql=self.sql, hint=hint)

    def fail_at_operand(self) -> NoReturn:
        """Like :meth:`fail`, where a name could stand: says so if a reserved word stands there."""
        if not self.is_type(RESERVED) or self.text in _CONNECTING:
            self.fail()
        if self.text == "SELECT":
            self.fail(hint="a query inside of another stands in FROM (…) or in WITH name AS (…)")
        word = self.tokens[self.index].text
        self.fail(hint=f"{word.upper()} is a reserved word; as a name it needs quotes: `{word.upper()}`")

    def fail(self, *, hint: str | None = None) -> NoReturn:
        """Raises a SyntaxProblem that says what could stand here instead."""
        if self.is_type(VARIABLE):
            name = self.tokens[self.index].text[2:-1]
            hint = f"DEFINE {name} = '…'; gives it a value"
            self.fail_at(self.index, "unknown-variable", f"there is no variable {name}", hint=hint)
        wanted = list(self._wanted) if self._wanted_at == self.index else []
        got = "the end of the text"
        if not self.done:
            token = self.tokens[self.index]
            got = self.sql[token.start : token.end + 1]
            got = _quoted(got if len(got) <= 40 else f"{got[:37]}…")
        if 0 < len(wanted) <= _SHOWN:
            message = f"expected {_or(wanted)}, got {got}"
        else:
            message = f"unexpected {got}"
            if wanted and hint is None:
                hint = f"expected {_or(wanted)}"
        raise SyntaxProblem(
            "syntax-error", message, span=self.span(self.index), sql=self.sql, hint=hint, similar=self._similar(wanted)
        )

    def _similar(self, wanted: list[str]) -> tuple[str, ...]:
        words = [w for w in wanted if w.isupper()]
        if not self.done and self.is_type(WORD):
            found = similar_names(self.text, words, limit=1)
            if found:
                return found
        # A mistyped clause word is often read as an alias first: FROM s WHER x = 1.
        if self.index and self.is_type(WORD, steps=-1):
            return similar_names(self.ahead(-1), [w for w in words if len(w) > 2], limit=1)
        return ()


def _or(words: list[str]) -> str:
    shown = [w if w[0].isalpha() else _quoted(w) for w in words]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _quoted(text: str) -> str:
    return text if text[0] in "'\"`" else f"'{text}'"


_CONSTRUCTORS = frozenset(("ARRAY", "MAP", "STRUCT"))


def needs_quotes(name: str) -> bool:
    """Whether a name must be quoted to be read back as itself."""
    head = name[:1]
    plain = name.isascii() and name.replace("_", "A").replace("@", "A").isalnum() and name == name.upper()
    if not plain or not (head.isalpha() or head == "_"):
        return True
    return name in reserved() or name in _CONSTRUCTORS
