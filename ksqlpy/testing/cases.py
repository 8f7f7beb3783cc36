"""Statement files as text: cases, sections and lines, each with its place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ksqlpy.errors import KsqlError, file_reason, similar_names

__all__ = ["Case", "FileProblem", "Line", "Section", "read_cases"]

KINDS = ("input", "output", "dead letters", "error", "known fault")
NOTHING = "(nothing)"
"""The line of a section that is empty on purpose."""
_NAMED = {"input": None, "output": True, "dead letters": False, "error": False, "known fault": True}
"""Whether a section has a name; None: as one likes."""


class FileProblem(KsqlError):
    """A statement file that cannot be understood; the message begins with its place, ``file:line``."""

    error_code = 40000

    def __init__(self, where: str, message: str, hint: str | None = None, similar: tuple[str, ...] = ()) -> None:
        super().__init__("statement-file", f"{where}: {message}", hint=hint, similar=similar)


@dataclass(frozen=True)
class Line:
    """A line of a section that is no comment."""

    number: int
    text: str


@dataclass(frozen=True)
class Section:
    """One section of a case; ``name`` is what stands behind its kind, or empty. ``end``: the last line's number."""

    kind: str
    name: str
    number: int
    end: int
    lines: tuple[Line, ...]

    @property
    def open(self) -> bool:
        """Whether it waits for its answer."""
        return self.kind in ("output", "error", "dead letters") and not self.lines

    @property
    def content(self) -> tuple[Line, ...]:
        """The lines, without the one that says that there are none."""
        return () if [line.text for line in self.lines] == [NOTHING] else self.lines


@dataclass(frozen=True)
class Case:
    """One case of a file. ``shared``: statements for all cases of the file; ``sql``: its own statements.

    ``project``: statements that are not in the file, ahead of all of them.
    """

    file: Path
    name: str
    number: int
    shared: str
    sql: str
    sections: tuple[Section, ...]
    project: str = ""

    @property
    def texts(self) -> list[str]:
        """All statements, in their order."""
        return [text for text in (self.project, self.shared, self.sql) if text.strip()]

    def where(self, line: int | None = None) -> str:
        """``file:line``, by default of the case's first line."""
        return f"{self.file}:{self.number if line is None else line}"

    def of_kind(self, kind: str) -> tuple[Section, ...]:
        """The sections of one kind, in order."""
        return tuple(s for s in self.sections if s.kind == kind)

    @property
    def error(self) -> Section | None:
        """The section that wants the statements refused."""
        return next(iter(self.of_kind("error")), None)

    @property
    def known_fault(self) -> str | None:
        """Why the case is expected to fail."""
        return next((s.name for s in self.of_kind("known fault")), None)

    @property
    def open(self) -> bool:
        """Whether some section waits for its answer."""
        return any(s.open for s in self.sections)


def read_cases(file: Path, project: str = "") -> list[Case]:
    """The cases of a file, with the statements of a project; raises FileProblem."""
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as e:
        raise FileProblem(str(file), f"the file cannot be read: {file_reason(e)}") from e
    starts = [i for i, text in enumerate(lines) if text.startswith("===")]
    if not starts:
        raise FileProblem(f"{file}:1", "the file has no cases", hint="a case begins with a line === name")
    shared = _sql(lines[: starts[0]])
    cases: list[Case] = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        name = lines[start].removeprefix("===").strip()
        where = f"{file}:{start + 1}"
        if not name:
            raise FileProblem(where, "the case has no name")
        if any(c.name == name for c in cases):
            raise FileProblem(where, f"there are two cases called {name}")
        heads = [i for i in range(start + 1, end) if re.match(r"---\s", lines[i])]
        sql = _sql(lines[start + 1 : heads[0] if heads else end])
        sections = tuple(_section(file, lines, h, e) for h, e in zip(heads, [*heads[1:], end], strict=False))
        cases.append(_checked(Case(file, name, start + 1, shared, sql, sections, project)))
    return cases


def _sql(lines: list[str]) -> str:
    """The statements; comments become empty lines, so that errors count the lines right."""
    return "\n".join("" if text.startswith("#") else text.rstrip() for text in lines).rstrip()


def _section(file: Path, lines: list[str], head: int, end: int) -> Section:
    written = lines[head].removeprefix("---").strip()
    kind = next((k for k in KINDS if written == k or written.startswith(k + " ")), None)
    where = f"{file}:{head + 1}"
    if kind is None:
        raise FileProblem(
            where,
            f"there is no section {written!r}",
            hint=f"the sections are {', '.join(KINDS)}",
            similar=tuple(n.lower() for n in similar_names(written, KINDS)),
        )
    name = written.removeprefix(kind).strip()
    if _NAMED[kind] is True and not name:
        raise FileProblem(where, f"the section {kind} needs {'a reason' if kind == 'known fault' else 'a topic'}")
    if name and (_NAMED[kind] is False or (kind != "known fault" and " " in name)):
        raise FileProblem(where, f"too many words behind --- {kind}")
    body = [Line(i + 1, lines[i].rstrip()) for i in range(head + 1, end)]
    kept = [line for line in body if line.text and not line.text.startswith("#")]
    last = kept[-1].number if kept else head + 1
    return Section(kind, name, head + 1, last, tuple(kept))


def _checked(case: Case) -> Case:
    if not case.texts:
        raise FileProblem(case.where(), f"the case {case.name} has no statements")
    for kind in ("error", "dead letters", "known fault"):
        if len(case.of_kind(kind)) > 1:
            raise FileProblem(case.where(case.of_kind(kind)[1].number), f"there are two sections {kind}")
    for s in case.of_kind("known fault"):
        if s.lines:
            raise FileProblem(case.where(s.lines[0].number), "the section known fault has no lines")
    if case.error is not None and (case.of_kind("input") or case.of_kind("output")):
        raise FileProblem(case.where(case.error.number), "a case with an error has no records")
    if not case.error and not case.of_kind("output") and not case.of_kind("dead letters"):
        raise FileProblem(case.where(), f"the case {case.name} expects nothing", hint="add --- output, or --- error")
    return case
