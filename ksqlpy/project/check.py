"""Files of statements checked without a server: types, names, what is legal.

The check is the engine's own, on a catalog that begins empty. All faults are told, not only the first one: where a
statement is refused, those that use what it would have made are left unchecked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ksqlpy.errors import KsqlError, Span
from ksqlpy.project.faults import Fault, say_variables
from ksqlpy.project.files import File
from ksqlpy.project.offline import Offline, check_statement
from ksqlpy.project.statements import Refused, Statement, in_order, only_define, statements_of
from ksqlpy.runtime.context import Sandbox

__all__ = ["Report", "check_files"]


@dataclass
class Report:
    """What a check has found; ``checked``, ``skipped``: numbers of statements, of which the latter use what failed."""

    files: int = 0
    checked: int = 0
    skipped: int = 0
    faults: list[Fault] = field(default_factory=list)

    def summary(self) -> str:
        """One line."""
        text = f"{_count(self.checked, 'statement')} in {_count(self.files, 'file')}: "
        text += f"{_count(len(self.faults), 'error')}" if self.faults else "no errors"
        if self.skipped:
            text += f"; {self.skipped} more not checked: what they use was refused"
        return text


def check_files(
    files: Sequence[File], variables: Mapping[str, str] | None = None, properties: Mapping[str, object] | None = None
) -> Report:
    """Checks the statements of the files together.

    They are taken in the order in which they stand, file by file; if all only say what there shall be, as in a project,
    in the order in which they need each other.
    """
    report = Report(files=len(files))
    given = dict(properties or {})
    statements: list[Statement] = []
    broken: set[str] = set()
    sandbox = Offline().sandbox(given)
    for file in files:
        for part in statements_of(file, variables or {}):
            if isinstance(part, Refused):
                report.faults.append(Fault(file, part.error))
                broken |= part.makes
                report.checked += 1
            else:
                statements.append(part)
    if only_define(statements):
        statements = in_order(statements)
    for statement in statements:
        if statement.uses & broken:
            broken |= statement.makes
            report.skipped += 1
            continue
        report.checked += 1
        error = _error(statement, sandbox, given)
        if error is not None:
            broken |= statement.makes
            report.faults.append(Fault(statement.file, error))
    order = {id(file): number for number, file in enumerate(files)}
    report.faults.sort(key=lambda f: (order[id(f.file)], f.span.start))
    return report


def _error(statement: Statement, sandbox: Sandbox, given: Mapping[str, object]) -> KsqlError | None:
    try:
        check_statement(statement.parsed, sandbox, {**given, **statement.properties})
    except KsqlError as e:
        e.sql = statement.file.sql
        e.span = e.span or Span(statement.parsed.start, statement.parsed.start + 1)
        return say_variables(e, statement.file, statement.variables)
    return None


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
