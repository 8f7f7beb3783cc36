"""The exceptions of ksqlpy, in one tree.

    KsqlError
    ├── StatementError         a statement is refused; carries the place in the SQL
    │   ├── SyntaxProblem      the text is no statement of the language
    │   └── AnalysisProblem    the statement cannot mean anything here: names, types, what is legal where
    ├── ConfigProblem          a property or option has no valid value
    ├── EnvironmentProblem     the machine lacks something: Java, a port, a broker, a jar
    └── EngineProblem          something failed while it ran
        ├── RowProblem         a row that a program inserts is not written
        └── ServiceLost        another engine runs the service now; the server ends

Every error is a code (a stable slug), one sentence, and where there is one the SQL with a span, a hint and similar
names. The first line goes into the REST field ``message``; :meth:`KsqlError.render` draws the rest for people.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "AnalysisProblem",
    "ConfigProblem",
    "EngineProblem",
    "EnvironmentProblem",
    "KsqlError",
    "RowProblem",
    "ServiceLost",
    "Span",
    "StatementError",
    "SyntaxProblem",
    "as_problem",
    "cut",
    "file_reason",
    "reason_of",
    "shown",
    "similar_names",
]


_LONGEST = 2000
"""Characters of a message."""


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
    the HTTP status; ``exit_code`` is that of a command which it ends. ``statement_text``: the statement that was
    refused, where one was run; ``entities``: the answers of the statements before it, as the REST API gives them.
    """

    error_code = 50000
    exit_code = 1
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
        message = cut(message, _LONGEST)  # names and values in it are as long as somebody wrote them
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


class RowProblem(EngineProblem):
    """A row that a program inserts is not written; ``inserted``: how many before it are."""

    def __init__(self, inserted: int, code: str, message: str, **more: Any) -> None:
        super().__init__(code, message, **more)
        self.inserted = inserted


class ServiceLost(EngineProblem):
    """Another engine runs the service: this one must not go on, and a supervisor should not start it again."""

    exit_code = 3


def similar_names(name: str, known: Iterable[str], limit: int = 2) -> tuple[str, ...]:
    """Names of ``known`` that look like ``name``, best first; for did-you-mean hints."""
    by_fold = {k.upper(): k for k in known}
    found = difflib.get_close_matches(name.upper(), list(by_fold), n=limit, cutoff=0.6)
    return tuple(by_fold[f] for f in found)


def shown(value: object) -> str:
    """A value that somebody sent, as a message repeats it: in quotes, on one line, and cut where it is long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:60]}…{text[-1]}"


def cut(text: str, room: int = 80) -> str:
    """The text, or its beginning where it is long."""
    return text if len(text) <= room else f"{text[: room - 1]}…"


_PACKAGE = r"(?:[a-z_][\w$]*\.)+(?=[A-Z][\w$]*(?:Exception|Error)\b)"
_PREFIXES = tuple(
    re.compile(prefix)
    for prefix in (
        r": ",  # of py4j
        r".*terminated with exception: ",  # of Spark, around what ended a query
        _PACKAGE,
        r"(?:SparkException: )?Job aborted due to stage failure: .*?\(TID \d+\) \([^()]*\): ",
        _PACKAGE,
    )
)
"""What Spark, Java and py4j put ahead of a reason."""


def reason_of(error: object) -> str:
    """An exception of any library, or an error of Kafka's client, in one line without a stack, for messages.

    Of Java's stacks the deepest cause is what counts; Kafka's client says what its error codes mean.
    """
    if isinstance(error, KsqlError):
        return error.summary()
    first = next(iter(getattr(error, "args", ())), None)
    for one in (error, first):  # a KafkaException has a KafkaError as its argument
        if callable(said := getattr(one, "str", None)):
            return _line(str(said()))
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    text = _line(str(error))
    if type(error).__module__.partition(".")[0] in ("py4j", "pyspark"):
        return text if text not in ("", "None") else "Spark does not answer"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _line(text: str) -> str:
    """The line of a text, which may be a Java stack, that says why."""
    lines = [s for line in text.splitlines() if (s := line.strip()) and not s.startswith(("at ", "... ", "JVM stack"))]
    causes = [line for line in lines if line.startswith("Caused by:")]
    plain = [line for line in lines if not line.startswith("An error occurred while calling ")]
    line = causes[-1].removeprefix("Caused by:") if causes else next(iter(plain or lines), "")
    for prefix in _PREFIXES:
        line = line.strip()
        if found := prefix.match(line):
            line = line[found.end() :]
    return cut(line, 500)


def file_reason(error: Exception) -> str:
    """Why a file cannot be used, in words, where its name is told already."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    said = getattr(error, "strerror", None) or str(error)
    return said[:1].lower() + said[1:]


def as_problem(error: Exception) -> KsqlError:
    """An exception that nobody expected, as an error for people; one that is an error already is given back."""
    if isinstance(error, KsqlError):
        return error
    if isinstance(error, OSError) and error.filename is not None:
        return EnvironmentProblem("file-unusable", f"{error.filename}: {file_reason(error)}")
    if isinstance(error, OSError):
        return EnvironmentProblem("system-refuses", f"the operating system refuses: {file_reason(error)}")
    if isinstance(error, UnicodeError):
        return ConfigProblem("not-utf-8", f"a text cannot be read: {file_reason(error)}")
    return EngineProblem(
        "internal",
        reason_of(error),
        hint="this is a fault of ksqlpy; with KSQLPY_TRACEBACK=1 set it shows where, for a report",
    )
