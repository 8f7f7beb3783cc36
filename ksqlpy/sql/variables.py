"""``${name}`` in a text, replaced before the text is parsed.

Source of the rules: ksqlDB manual, "DEFINE", "Variable substitution". A reference stands for one name or one literal,
or is part of a string or of a quoted name; it never stands for a keyword or for several words, so a value cannot change
what a statement does. What ksqlDB checks, this makes so: a value inside quotes stays inside of them, whatever it holds,
and a plain word becomes a quoted name. A name without a value is left as it is; the parser refuses it, unless it stands
in quotes. Values are not searched for references again.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ksqlpy.errors import Span, SyntaxProblem
from ksqlpy.sql.tokens import IDENTIFIER, NUMBER, RESERVED, STRING, VARIABLE, WORD, Token, tokenize

__all__ = ["MAX_LENGTH", "Substitution", "substitute", "substitute_tokens"]

MAX_LENGTH = 10_000_000
"""So many characters may a text with its values have, all statements together: values made of values grow fast."""

_REFERENCE = re.compile(r"\$\{([A-Za-z0-9_][A-Za-z0-9_@]*)\}")
_CONSTANTS = ("NULL", "TRUE", "FALSE")
_HINT = "a variable stands for one name or one literal; text needs quotes around the reference: '${x}'"


@dataclass(frozen=True)
class Substitution:
    """A text with its variables replaced.

    ``text``: the new text; ``pieces``: for every replaced reference its start and end in the new text and its start and
    end in the old one, in order.
    """

    text: str
    pieces: tuple[tuple[int, int, int, int], ...] = ()

    def origin(self, span: Span) -> Span:
        """Where in the old text a place of the new one comes from: of a value, its whole reference."""
        return Span(self._old(span.start, first=True), self._old(span.end, first=False))

    def _old(self, offset: int, *, first: bool) -> int:
        # A start belongs to the piece that begins there, an end to the piece that ends there.
        place = bisect_right(self.pieces, offset if first else offset - 1, key=lambda p: p[0]) - 1
        if place < 0:
            return offset
        _, new_end, old_start, old_end = self.pieces[place]
        if offset < new_end or (not first and offset == new_end):
            return old_start if first else old_end
        return old_end + offset - new_end


def substitute(sql: str, variables: Mapping[str, str]) -> Substitution:
    """The text with every ``${name}`` replaced that ``variables`` has; names are compared without case.

    Comments stay as they are. Raises SyntaxProblem, with the place of the reference: ``invalid-variable`` for a value
    that is more or other than a name or a literal where it would stand free, ``variable-in-word`` for a reference that
    touches a word, ``text-too-long``; and what the tokenizer raises.
    """
    return substitute_tokens(tokenize(sql), sql, {name.upper(): value for name, value in variables.items()})


def substitute_tokens(
    tokens: Sequence[Token],
    sql: str,
    variables: Mapping[str, str],
    start: int = 0,
    end: int | None = None,
    most: int = MAX_LENGTH,
) -> Substitution:
    """:func:`substitute` for the part of a text from ``start`` to ``end`` that ``tokens`` are of.

    ``variables``: names in upper case; ``most``: characters that the part may have with its values.
    """
    out: list[str] = []
    pieces: list[tuple[int, int, int, int]] = []
    done, size = start, 0
    for index, token in enumerate(tokens):
        if token.token_type == VARIABLE:
            make = _free(tokens, index, sql)
        elif token.token_type in (STRING, IDENTIFIER):
            make = _quoted(sql[token.start])
        else:
            continue
        for found in _REFERENCE.finditer(sql, token.start, token.end + 1):
            value = variables.get(found[1].upper())
            if value is None:
                continue
            try:
                new = make(value)
            except SyntaxProblem as e:
                e.span, e.sql = Span(found.start(), found.end()), sql
                raise
            kept = sql[done : found.start()]
            begin = size + len(kept)
            out += [kept, new]
            size = begin + len(new)
            if size > most:
                place = Span(found.start(), found.end())
                message = f"with its variables the text has more than {MAX_LENGTH} characters"
                raise SyntaxProblem("text-too-long", message, span=place, sql=sql, hint="use shorter values")
            pieces.append((begin, size, found.start() - start, found.end() - start))
            done = found.end()
    return Substitution("".join([*out, sql[done:end]]), tuple(pieces))


def _quoted(quote: str) -> Callable[[str], str]:
    """Keeps a value inside the quotes that it stands in."""
    return lambda value: value.replace(quote, quote * 2)


def _free(tokens: Sequence[Token], index: int, sql: str) -> Callable[[str], str]:
    """Makes one name or literal of a value."""
    here = tokens[index]
    before = tokens[index - 1] if index else None
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    touches = (before is not None and before.end + 1 == here.start and _is_word(before)) or (
        after is not None and after.start == here.end + 1 and _is_word(after)
    )

    def make(value: str) -> str:
        if touches:
            hint = "put the whole name in quotes: `${x}_more`"
            raise SyntaxProblem("variable-in-word", "a variable cannot be a part of a plain word", hint=hint)
        try:
            parts = tokenize(value)
        except SyntaxProblem:
            parts = []
        # Blanks around a number: it must not grow by a point, nor a sign become a comment.
        signed = len(parts) == 2 and parts[0].text in ("-", "+") and parts[1].token_type == NUMBER
        if signed:
            # Behind an operand the sign would be an operator.
            if before is None or not _ends_operand(before):
                return f" {parts[0].text}{parts[1].text} "
        elif len(parts) == 1:
            [part] = parts
            if part.token_type == NUMBER:
                return f" {part.text} "
            if part.token_type in (STRING, IDENTIFIER) or part.text.upper() in _CONSTANTS:
                return value[part.start : part.end + 1]
            if part.token_type == WORD:
                return f"`{part.text.upper()}`"
        shown = value if len(value) <= 40 else f"{value[:37]}…"
        raise SyntaxProblem("invalid-variable", f"the value {shown} cannot stand here", hint=_HINT)

    return make


def _is_word(token: Token) -> bool:
    return token.token_type in (WORD, RESERVED, NUMBER, VARIABLE, IDENTIFIER, STRING)


def _ends_operand(token: Token) -> bool:
    return token.token_type in (WORD, NUMBER, STRING, IDENTIFIER, VARIABLE) or token.text in (")", "]")
