"""A plan is brought about, one statement after the other.

Before the first of them the server checks them all: they go to it as one request whose last statement is wrong. A
server checks a request whole before it does any of it, so nothing is done, and an error of another statement than the
last is one of the plan. That holds for ksqlDB too.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence

from ksqlpy.errors import EngineProblem, KsqlError
from ksqlpy.project.plan import Step
from ksqlpy.project.state import Server

__all__ = ["check_on_server", "run_steps"]


def check_on_server(server: Server, steps: Sequence[Step]) -> None:
    """Lets the server check the steps without doing them; raises the KsqlError of the first that it would refuse."""
    if not steps:
        return
    never = f"KSQLPY_CHECK_{secrets.token_hex(8).upper()}"
    parts = [p for step in steps for p in _in_session(step)]
    try:
        server.statements("\n".join([*parts, f"DROP STREAM {never};"]))
    except KsqlError as e:
        if e.code in ("server-away", "connection-lost", "no-ksqldb-server"):
            raise
        if never in f"{e.statement_text or ''} {e.message}":
            return
        raise
    raise EngineProblem("not-checked", f"the server has dropped {never}, a stream that nobody has made")


def _in_session(step: Step) -> Iterator[str]:
    """The statement between SET and UNSET of its properties."""
    for name, value in step.properties.items():
        yield f"SET {_literal(name)} = {_literal(str(value))};"
    yield step.sql
    for name in step.properties:
        yield f"UNSET {_literal(name)};"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def run_steps(server: Server, steps: Sequence[Step], tell: Callable[[str], None]) -> None:
    """Does the steps in order, and tells each.

    Raises the KsqlError of the first that fails, when it has told what is not done; to plan anew and go on then
    finishes.
    """
    for number, step in enumerate(steps, 1):
        place = f"[{number}/{len(steps)}]"
        try:
            server.statements(step.sql, step.properties)
        except KsqlError:
            tell(f"{place} failed: {step.sql}")
            for left in steps[number:]:
                tell(f"      not done: {left.sql}")
            raise
        tell(f"{place} {step.sql}")
