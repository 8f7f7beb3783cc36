"""The exceptions of ksqlpy, in one tree.

    KsqlError
    ├── StatementError         a statement is refused; carries the place in the SQL
    │   ├── SyntaxProblem      the text is no statement of the language
    │   └── AnalysisProblem    the statement cannot mean anything here: names, types, what is legal where
    ├── ConfigProblem          a property or option has no valid value
    ├── EnvironmentProblem     the machine lacks something: Java, a port, a broker, a jar
    └── EngineProblem          something failed while it ran

Every error is a code (a stable slug), one sentence, and where there is one the SQL with a span, a hint and similar
names. The first line goes into the REST field ``message``; :meth:`KsqlError.render` draws the rest for people.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "AnalysisProblem",
    "ConfigProblem",
    "EngineProblem",
    "EnvironmentProblem",
    "KsqlError",
    "Span",
    "StatementError",
    "SyntaxProblem",
    "similar_names",
]


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range of character offsets ``[start, end)`` in a SQL text."""

    start: int
    end: int

    def position(self, sql: str) -> tuple[int, int]:
        """Line and column of the start, both counted from 1."""
        before = sql[: self.start]
        return before.count("\n") + 1, self.start - (before.rfind("\n") + 1) + 1


class KsqlError(Exception):
    """Base of all errors that ksqlpy raises on purpose.

    ``code`` is a stable slug such as ``unknown-column``; ``error_code`` is ksqlDB's REST number, whose hundreds are
    the HTTP status. ``statement_text``: the statement that was refused, where one was run; ``entities``: the answers
    of the statements before it, as the REST API gives them.
    """

    error_code = 50000
    statement_text: str | None = None
    entities: Sequence[Mapping[str, Any]] = ()

    def __init__(
        self,
        code: str,
        message: str,
        *,
        span: Span | None = None,
        sql: str | None = None,
        hint: str | None = None,
        similar: Iterable[str] = (),
        error_code: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.span = span
        self.sql = sql
        self.hint = hint
        self.similar = tuple(similar)
        if error_code is not None:
            self.error_code = error_code

    @property
    def full_hint(self) -> str | None:
        """The hint, with similar names as a question in front of it."""
        parts = []
        if self.similar:
            names = [f"`{n}`" for n in self.similar]
            parts.append(f"did you mean {' or '.join(names)}?")
        if self.hint:
            parts.append(self.hint)
        return " ".join(parts) or None

    def summary(self) -> str:
        """One line: the place (if known), the message and the hint; what REST clients see."""
        text = self.message
        if self.span is not None and self.sql is not None:
            line, column = self.span.position(self.sql)
            text = f"line {line}:{column}: {text}"
        return f"{text} (hint: {self.full_hint})" if self.full_hint else text

    def render(self, room: int | None = None) -> str:
        """The error as a drawing: code, message, the SQL line with a caret, the hint.

        ``room``: the columns of a terminal that the drawing must fit; None: up to 120 characters of SQL are shown.
        """
        out = [f"error[{self.code}]: {self.message}"]
        if self.span is not None and self.sql is not None:
            line, column = self.span.position(self.sql)
            text = (self.sql.splitlines() or [""])[line - 1] if line <= len(self.sql.splitlines()) else ""
            width = max(1, min(self.span.end - self.span.start, len(text) - column + 1))
            gutter = " " * len(str(line))
            # A long line is cut around the place, so that the caret stays on the screen.
            most = 120 if room is None else min(120, max(room - len(gutter) - 4, 16))
            left = max(0, column - 1 - most // 2) if len(text) > most else 0
            width = min(width, most - (column - 1 - left))
            shown = text[left : left + most].replace("\t", " ")
            out += [
                f" {gutter}--> line {line}, column {column}",
                f" {gutter} |",
                f" {line} | {shown}",
                f" {gutter} | {' ' * (column - 1 - left)}{'^' * width}",
            ]
        if self.full_hint:
            out.append(f" = hint: {self.full_hint}")
        return "\n".join(out)


class StatementError(KsqlError):
    """A statement is refused before anything of it is done."""

    error_code = 40001


class SyntaxProblem(StatementError):
    """The text is no statement of the language."""


class AnalysisProblem(StatementError):
    """The statement parses, but names, types or the rules of the language forbid it."""


class ConfigProblem(KsqlError):
    """A property or option is unknown or has no valid value."""

    error_code = 40000


class EnvironmentProblem(KsqlError):
    """The machine lacks something that ksqlpy needs; the hint says what to do."""

    error_code = 50000


class EngineProblem(KsqlError):
    """Something failed while it ran."""

    error_code = 50000


def similar_names(name: str, known: Iterable[str], limit: int = 2) -> tuple[str, ...]:
    """Names of ``known`` that look like ``name``, best first; for did-you-mean hints."""
    by_fold = {k.upper(): k for k in known}
    found = difflib.get_close_matches(name.upper(), list(by_fold), n=limit, cutoff=0.6)
    return tuple(by_fold[f] for f in found)
