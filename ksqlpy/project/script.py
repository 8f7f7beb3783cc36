"""The statements of a project as one text, each behind those that it needs: what test cases run ahead of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ksqlpy.project.files import File
from ksqlpy.project.statements import Statement, in_order, only_define, statements_of

__all__ = ["script"]


def script(files: Sequence[File], variables: Mapping[str, str]) -> str:
    """The statements with the values of their variables, and with SET and UNSET where their properties change.

    What is no statement is left out: see :func:`.check.check_files`.
    """
    found = [part for file in files for part in statements_of(file, variables) if isinstance(part, Statement)]
    if only_define(found):
        found = in_order(found)
    lines: list[str] = []
    now: Mapping[str, object] = {}
    for statement in found:
        if statement.of_session:
            continue
        lines += [*_changes(now, statement.properties), statement.parsed.text]
        now = statement.properties
    return "\n".join([*lines, *_changes(now, {})])


def _changes(now: Mapping[str, object], then: Mapping[str, object]) -> Iterator[str]:
    for name in now:
        if name not in then:
            yield f"UNSET {_literal(name)};"
    for name, value in then.items():
        if now.get(name) != value:
            yield f"SET {_literal(name)} = {_literal(value)};"


def _literal(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"
