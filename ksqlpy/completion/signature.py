"""The call of a function in which a place is, and which of its parameters stands there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ksqlpy.completion.names import Function, Names
from ksqlpy.errors import SyntaxProblem
from ksqlpy.sql.tokens import RESERVED, SYMBOLS, WORD, Token, tokenize

__all__ = ["Call", "Signature", "call_at"]

_CALL, _COMMA, _END = SYMBOLS["("], SYMBOLS[","], SYMBOLS[";"]
_OPENS = {_CALL, SYMBOLS["["]}
_CLOSES = {SYMBOLS[")"], SYMBOLS["]"]}


@dataclass(frozen=True)
class Signature:
    """A form of a function: all of it as text, and its parameters."""

    label: str
    parameters: tuple[str, ...]

    def has(self, number: int) -> bool:
        """Whether there may be an argument of that number; the last parameter may stand for more."""
        return number < len(self.parameters) or any("…" in p for p in self.parameters[-1:])


@dataclass(frozen=True)
class Call:
    """A call whose parentheses are open; ``active``: the number of the argument, from 0."""

    function: Function
    active: int

    @property
    def signatures(self) -> list[Signature]:
        """The forms of the function, those first that have such an argument."""
        forms = [
            Signature(f"{self.function.name}{text}", tuple(_parameters(text))) for text in self.function.signatures
        ]
        return sorted(forms, key=lambda form: not form.has(self.active))


def call_at(before: str, names: Names) -> Call | None:
    """The innermost call that the text leaves open."""
    try:
        tokens = tokenize(before)
    except SyntaxProblem as e:  # a text in quotes that has not ended, which is an argument
        if e.span is None or e.code not in ("unterminated-string", "unterminated-identifier"):
            return None
        tokens = tokenize(before[: e.span.start])
    depth = commas = 0
    for at in range(len(tokens) - 1, 0, -1):
        token = tokens[at]
        if token.token_type is _END:
            return None
        if token.token_type in _CLOSES:
            depth += 1
        elif token.token_type in _OPENS and depth:
            depth -= 1
        elif token.token_type in _OPENS:
            found = _function(tokens[at - 1], names) if token.token_type is _CALL else None
            if found is not None:
                return Call(found, commas)
            commas = 0  # those of a list, or of a subquery
        elif token.token_type is _COMMA and not depth:
            commas += 1
    return None


def _function(token: Token, names: Names) -> Function | None:
    return names.functions.get(token.text.upper()) if token.token_type in (WORD, RESERVED) else None


def _parameters(signature: str) -> Iterator[str]:
    """The parameters of a text as ``(STRING, MAP<STRING, INT>) → STRING``."""
    depth, part = 0, ""
    for letter in signature[1:].replace("=>", "⇒"):
        if letter == ")" and not depth:
            break
        depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(letter, 0)
        if letter == "," and not depth:
            yield part.strip().replace("⇒", "=>")
            part = ""
        else:
            part += letter
    if part.strip():
        yield part.strip().replace("⇒", "=>")
