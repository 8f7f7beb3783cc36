"""What is wrong with a file, as people and machines read it."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from ksqlpy.errors import KsqlError, Span
from ksqlpy.project.files import File

__all__ = ["Fault", "say_variables"]

_REFERENCE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True)
class Fault:
    """What is wrong with a file, and where."""

    file: File
    error: KsqlError

    @property
    def place(self) -> tuple[int, int]:
        """Line and column, from 1."""
        return self.span.position(self.file.sql)

    @property
    def span(self) -> Span:
        """The place in the file; its beginning where the fault has none."""
        return self.error.span if self.error.span is not None else Span(0, 0)

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        line, column = self.place
        return {
            "file": self.file.name,
            "line": line,
            "column": column,
            "length": self.span.end - self.span.start,
            "severity": "error",
            "code": self.error.code,
            "message": self.error.message,
            "hint": self.error.full_hint,
        }

    def render(self) -> str:
        """For people: ``file:line:column``, and the line of the file with the place under it."""
        line, column = self.place
        head, *drawing = self.error.render().split("\n")
        if drawing and drawing[0].lstrip().startswith("-->"):
            drawing = drawing[1:]
        return "\n".join([f"{self.file.name}:{line}:{column}: {head}", *drawing])


def say_variables(error: KsqlError, file: File, known: Container[str]) -> KsqlError:
    """The error, with a hint that names the variables at its place that have no value, and says how they get one.

    ``known``: those that have one, in upper case. In a string such a reference stays as it is, so that the error speaks
    of a text that nobody meant.
    """
    place = file.sql[error.span.start : error.span.end] if error.span is not None else ""
    missing = [name for name in dict.fromkeys(_REFERENCE.findall(place)) if name.upper() not in known]
    if missing:
        values = " ".join(f"-d {name}=…" for name in missing)
        names = f"{' and '.join(missing)} {'has' if len(missing) == 1 else 'have'}"
        error.hint = f"{names} no value: {values}, --vars FILE, or DEFINE in the file"
    return error
