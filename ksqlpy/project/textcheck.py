"""A text of statements checked while it is written: what is wrong with it, and where its statements are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp

from ksqlpy.errors import EngineProblem, EnvironmentProblem, KsqlError, Span, SyntaxProblem
from ksqlpy.project.files import File
from ksqlpy.project.statements import Refused, Statement, statements_of
from ksqlpy.runtime.context import Sandbox
from ksqlpy.runtime.statements import Effect, check, may_sample, statement_of
from ksqlpy.runtime.statements.select import check_pull, check_push
from ksqlpy.sql import Parsed, nodes, parse
from ksqlpy.sql.tokens import SYMBOLS, Token, tokenize

__all__ = ["MOST", "Checked", "Diagnostic", "Kind", "Part", "check_text"]

Kind = Literal["statement", "push", "pull", "print", "session", "script", "unreadable"]

MOST = 1000
"""Errors at most: behind so many nothing more is read."""

_INFERRED = ("no-columns", "no-format")
"""Codes of what a statement lacks that may be inferred from records, which are not read at each key."""


@dataclass(frozen=True)
class Diagnostic:
    """Something wrong; ``waits``: the statement may still be right: it is not at its end, or cannot be checked now."""

    span: Span
    error: KsqlError
    waits: bool = False


@dataclass(frozen=True)
class Part:
    """A statement of the text, with its semicolon.

    ``checked``: False where it uses what was refused, and where nothing is read any more.
    """

    span: Span
    kind: Kind
    name: str = ""
    checked: bool = True


@dataclass
class Checked:
    """What was found, by place."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)


def check_text(
    text: str,
    sandbox: Sandbox,
    given: Mapping[str, object],
    variables: Mapping[str, str],
    printable: Callable[[Parsed, Sandbox], object],
) -> Checked:
    """Checks all statements of a text in turn, each behind those before it; nothing is done.

    ``given``: properties of the session; ``printable``: checks a PRINT, raises KsqlError.
    """
    found, broken = Checked(), set[str]()
    spans, endless = list(_spans(text)), _endless(text)
    parts = statements_of(File("", text if endless is None else f"{text}\n;"), variables)
    for number, (span, part) in enumerate(zip(spans, parts, strict=True)):
        if len(found.diagnostics) == MOST:
            found.parts += [Part(left, "unreadable", checked=False) for left in spans[number:]]
            endless = None
            break
        if isinstance(part, Refused):
            error = part.error
            if span is spans[-1] and endless is not None:  # one error is enough, and it speaks of the text as it is
                endless, error = None, _last_error(text, variables) or error
            found.diagnostics.append(Diagnostic(error.span or span, error))
            found.parts.append(Part(span, "unreadable" if isinstance(part.error, SyntaxProblem) else "session"))
            broken |= part.makes
            continue
        node = part.parsed.node
        checked = not part.uses & broken
        found.parts.append(Part(span, _kind(node), statement_of(node).name, checked))
        problem = _problem(part, sandbox, {**given, **part.properties}, printable) if checked else None
        if problem is not None:
            found.diagnostics.append(problem)
        if problem is not None or not checked:
            broken |= part.makes
    if endless is not None and len(found.diagnostics) < MOST:
        found.diagnostics.append(Diagnostic(endless.span or spans[-1], endless, waits=True))
    found.diagnostics.sort(key=lambda d: d.span.start)
    return found


def _problem(
    statement: Statement,
    sandbox: Sandbox,
    properties: Mapping[str, object],
    printable: Callable[[Parsed, Sandbox], object],
) -> Diagnostic | None:
    parsed, sandbox.overrides = statement.parsed, dict(properties)
    node, whole = parsed.node, Span(parsed.start, parsed.start + 1)
    try:
        if isinstance(node, nodes.Query | nodes.UnionAll):
            (check_push if node.args.get("emit") is not None else check_pull)(parsed, sandbox)
        elif isinstance(node, nodes.Print):
            printable(parsed, sandbox)
        elif not isinstance(node, nodes.RunScript):  # whose file only the program knows
            check(parsed, sandbox)
    except (EnvironmentProblem, EngineProblem) as e:
        return Diagnostic(e.span or whole, e, waits=True)
    except KsqlError as e:
        waits = e.code in _INFERRED and may_sample(parsed)
        return Diagnostic(e.span or whole, e, waits=waits)
    return None


def _kind(node: exp.Expr) -> Kind:
    if isinstance(node, nodes.Query | nodes.UnionAll):
        return "push" if node.args.get("emit") is not None else "pull"
    if isinstance(node, nodes.Print):
        return "print"
    if isinstance(node, nodes.RunScript):
        return "script"
    return "session" if statement_of(node).effect is Effect.SESSION else "statement"


def _endless(text: str) -> SyntaxProblem | None:
    """What is wrong with the last statement if it has no semicolon: it is checked as if it had one."""
    try:
        tokens = tokenize(text)
    except SyntaxProblem:
        return None
    if not tokens or tokens[-1].token_type is SYMBOLS[";"]:
        return None
    try:
        parse("SHOW STREAMS")
    except SyntaxProblem as e:
        e.span, e.sql = Span(tokens[-1].end + 1, tokens[-1].end + 1), text
        return e
    return None


def _last_error(text: str, variables: Mapping[str, str]) -> KsqlError | None:
    *_, last = statements_of(File("", text), variables)
    return last.error if isinstance(last, Refused) else None


def _spans(text: str) -> Iterator[Span]:
    """The ranges of the statements; the last one may have no end."""
    try:
        tokens, end = tokenize(text), None
    except SyntaxProblem as e:
        start = e.span.start if e.span is not None else 0
        tokens, end = tokenize(text[:start]), len(text.rstrip())
    first: Token | None = None
    for token in tokens:
        first = first or token
        if token.token_type is SYMBOLS[";"]:
            yield Span(first.start, token.end + 1)
            first = None
    if first is not None:
        yield Span(first.start, tokens[-1].end + 1 if end is None else end)
    elif end is not None:
        yield Span(start, end)
