"""A plan is brought about, one statement after the other.

Before the first of them the server checks them all: they go to it as one request whose last statement is wrong. A
server checks a request whole before it does any of it, so nothing is done, and an error of another statement than the
last is one of the plan. That holds for ksqlDB too.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

from ksqlpy.errors import EngineProblem, KsqlError, Span
from ksqlpy.project.plan import Step
from ksqlpy.project.state import Server

__all__ = ["check_on_server", "run_steps"]


def check_on_server(server: Server, steps: Sequence[Step]) -> None:
    """Lets the server check the steps without doing them; raises the KsqlError of the first that it would refuse."""
    if not steps:
        return
    never = f"KSQLPY_CHECK_{secrets.token_hex(8).upper()}"
    text, places = "", []
    for step in steps:
        before, after = _session(step)
        text += before
        places.append((len(text), step))
        text += f"{step.sql}\n{after}"
    try:
        server.statements(f"{text}DROP STREAM {never};")
    except KsqlError as e:
        if never in f"{e.statement_text or ''} {e.message}":
            return
        if e.span is not None and e.sql is not None:  # the place in the statement, not in a text that nobody has seen
            for begin, step in places:
                if begin <= e.span.start < begin + len(step.sql):
                    e.span, e.sql = Span(e.span.start - begin, e.span.end - begin), step.sql
                    break
        raise
    raise EngineProblem("not-checked", f"the server has dropped {never}, a stream that nobody has made")


def _session(step: Step) -> tuple[str, str]:
    """What sets the properties of a step ahead of it, and unsets them behind it."""
    before = "".join(f"SET {_literal(n)} = {_literal(str(v))};\n" for n, v in step.properties.items())
    return before, "".join(f"UNSET {_literal(n)};\n" for n in step.properties)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def run_steps(server: Server, steps: Sequence[Step], tell: Callable[[str], None]) -> None:
    """Does the steps in order, and tells each.

    Raises the KsqlError of the first that fails, when it has told what is not done; to plan again and go on then
    finishes.
    """
    for number, step in enumerate(steps, 1):
        place = f"[{number}/{len(steps)}]"
        try:
            server.statements(step.sql, step.properties)
        except KsqlError:
            tell(f"{place} failed: {step}")
            for left in steps[number:]:
                tell(f"      not done: {left}")
            raise
        tell(f"{place} {step}")
