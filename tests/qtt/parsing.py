"""Whether statements parse and round-trip: text to tree to text to the same tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ksqlpy.errors import KsqlError
from ksqlpy.sql import parse, to_sql

from .cases import Case
from .refusals import asks_for_syntax_error
from .sqlfiles import SqlCase, statements_of

__all__ = ["Failure", "check_parsing"]


@dataclass(frozen=True)
class Failure:
    """A statement that does not parse, or comes back as something else."""

    case: str
    statement: str
    reason: str


def check_parsing(cases: Iterable[Case | SqlCase]) -> tuple[int, list[Failure]]:
    """How many texts were looked at, each once, and those that failed; those meant to be no syntax are left out."""
    seen: set[str] = set()
    failures = []
    for case in cases:
        statements, expected = _content(case)
        last = len(statements) - 1
        for number, statement in enumerate(statements):
            if number == last and expected is not None and asks_for_syntax_error(expected):
                continue
            if statement in seen:
                continue
            seen.add(statement)
            reason = _problem(statement)
            if reason is not None:
                failures.append(Failure(case.full_name, statement, reason))
    return len(seen), failures


def _content(case: Case | SqlCase) -> tuple[Sequence[str], Mapping[str, Any] | None]:
    if isinstance(case, Case):
        return case.statements, case.expected_error
    return statements_of(case.sql), {"type": case.error, "message": case.message} if case.error else None


def _problem(text: str) -> str | None:
    try:
        trees = [p.node for p in parse(text)]
    except KsqlError as e:
        return f"{e.code}: {e.summary()}"
    except Exception as e:  # a fault of the parser
        return f"crash: {type(e).__name__}: {e}"
    for tree in trees:
        try:
            printed = to_sql(tree)
            [again] = [p.node for p in parse(printed + ";")]
        except Exception as e:  # what was parsed must be printable and parse again
            return f"does not come back: {type(e).__name__}: {e}"
        if again != tree:
            return f"comes back as another tree: {printed}"
    return None if trees else "no statement"
