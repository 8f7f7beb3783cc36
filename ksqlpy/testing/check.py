"""What came out of a case against what its file says."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ksqlpy.catalog import Source
from ksqlpy.testing.cases import NOTHING, Case, FileProblem, Line, Section, read_cases
from ksqlpy.testing.records import DeadLetter, Record, by_key, canonical, find_source, parse_record, show_record

__all__ = ["CaseFailed", "Outcome", "Runner", "check", "check_outcome", "complete"]


class CaseFailed(AssertionError):
    """A case whose outcome is not what its file says; the message holds the place and the difference."""


@dataclass(frozen=True)
class Outcome:
    """What a runner saw of a case.

    ``sources``: by name, as the file calls them; ``records``: of the topics, in order; ``unordered``: topics of several
    partitions; ``failed``: by query, how many values are null since an error made them so; ``error``: the drawing of
    the refusal.
    """

    sources: Mapping[str, Source] = field(default_factory=dict)
    records: Mapping[str, Sequence[Record]] = field(default_factory=dict)
    dead_letters: Sequence[DeadLetter] = ()
    unordered: frozenset[str] = frozenset()
    failed: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None


class Runner(Protocol):
    """Runs cases; :meth:`run` may be called from several threads."""

    def run(self, case: Case) -> Outcome:
        """Runs the case; raises CaseFailed if a query ends, and FileProblem."""
        ...


def check(case: Case, runner: Runner) -> None:
    """Runs a case and compares; raises CaseFailed or FileProblem."""
    check_outcome(case, runner.run(case))


def check_outcome(case: Case, outcome: Outcome) -> None:
    """Compares what came out with what the case expects; raises CaseFailed or FileProblem."""
    problems = _refusal(case, outcome)
    if not problems and outcome.error is None:
        for section in case.of_kind("output"):
            problems += _output(case, section, outcome)
        problems += _dead_letters(case, outcome)
    if problems:
        problems += [f"{case.where()}: query {q}: {_FAILED}: {n}" for q, n in outcome.failed.items() if n]
        raise CaseFailed("\n".join([f"{case.where()}: case {case.name!r}", *problems]))


_FAILED = "values that an error made null (a number that does not fit its type, a text that is none of its type)"


def _refusal(case: Case, outcome: Outcome) -> list[str]:
    section = case.error
    if section is None:
        if outcome.error is None:
            return []
        return [f"{case.where()}: the statements are refused", _indented(outcome.error.split("\n"))]
    if outcome.error is None:
        return [f"{case.where(section.number)}: the statements are not refused"]
    expected, actual = [line.text for line in section.lines], _drawn(outcome.error)
    if expected == actual:
        return []
    return [f"{case.where(section.number)}: another error ({_LEGEND})", *difflib.ndiff(expected, actual)]


def _drawn(error: str) -> list[str]:
    return [line.rstrip() for line in error.split("\n") if line.strip()]


_LEGEND = "- expected, + actual"


def _output(case: Case, section: Section, outcome: Outcome) -> list[str]:
    where = case.where(section.number)
    source = find_source(section.name, outcome.sources, where)
    lines = section.content
    expected = [parse_record(line, source, case.where(line.number)) for line in lines]
    actual = list(outcome.records.get(source.topic, ()))
    if source.topic in outcome.unordered:
        numbers = {id(r): line for r, line in zip(expected, lines, strict=True)}
        expected = list(by_key(expected))
        lines = tuple(numbers[id(r)] for r in expected)
        actual = list(by_key(actual))
    timed = any(r.time is not None for r in expected)
    found: list[str] = []
    failed = False
    matcher = difflib.SequenceMatcher(
        None, [canonical(r, source) for r in expected], [canonical(r, source) for r in actual], autojunk=False
    )
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind == "equal":
            for line, e, a in zip(lines[i:j], expected[i:j], actual[k:m], strict=True):
                if e.time is not None and e.time != a.time:
                    failed = True
                    found += _removed(case, [line])
                    found.append(f"  + {show_record(a, source, time=True)}")
                else:
                    found.append(f"    {line.text}")
        else:
            failed = True
            found += _removed(case, lines[i:j])
            found += [f"  + {show_record(a, source, time=timed)}" for a in actual[k:m]]
    return [f"{where}: output {section.name} differs ({_LEGEND})", *found] if failed else []


def _removed(case: Case, lines: Sequence[Line]) -> list[str]:
    return [f"  - {line.text}    [{case.file.name}:{line.number}]" for line in lines]


def _dead_letters(case: Case, outcome: Outcome) -> list[str]:
    section = next(iter(case.of_kind("dead letters")), None)
    lines = section.content if section is not None else ()
    wrong = len(lines) != len(outcome.dead_letters)
    for line, letter in zip(lines, outcome.dead_letters, strict=False):
        topic, offset, words = (*line.text.split(maxsplit=2), "", "", "")[:3]
        if not offset.isdigit() or not words:
            raise FileProblem(case.where(line.number), "a dead letter is written as TOPIC OFFSET words of the reason")
        wrong = wrong or (topic, int(offset)) != (letter.topic, letter.offset) or words not in letter.reason
    if not wrong:
        return []
    where = case.where(section.number if section is not None else None)
    return [f"{where}: dead letters differ ({_LEGEND})", *_removed(case, lines), _shown(outcome.dead_letters, "  + ")]


def _shown(letters: Sequence[DeadLetter], mark: str = "") -> str:
    return "\n".join(f"{mark}{d.topic} {d.offset} {d.reason}" for d in letters)


def _indented(lines: Sequence[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)


# ---------------------------------------------------------------- writing answers


def complete(file: Path, runner: Runner, project: str = "") -> int:
    """Writes the answers into the sections of the file that wait for them; returns how many.

    ``project``: the statements of a project, see :func:`.cases.read_cases`. What a case gives becomes what it must
    give: read it before you keep it. Raises FileProblem, and CaseFailed when all other answers are written.
    """
    lines = file.read_text(encoding="utf-8").split("\n")
    answers: list[tuple[int, list[str]]] = []
    failures: list[str] = []
    for case in read_cases(file, project):
        if not case.open:
            continue
        try:
            outcome = runner.run(case)
            found = [(s.number, _answer(case, s, outcome)) for s in case.sections if s.open]
        except CaseFailed as e:
            failures.append(str(e))
        else:
            answers += found
    for number, answer in sorted(answers, reverse=True):
        lines[number:number] = answer
    if answers:
        file.write_text("\n".join(lines), encoding="utf-8")
    if failures:
        raise CaseFailed("\n".join(failures))
    return len(answers)


def _answer(case: Case, section: Section, outcome: Outcome) -> list[str]:
    where = case.where(section.number)
    if section.kind == "error":
        if outcome.error is None:
            raise CaseFailed(f"{where}: the statements are not refused")
        return _drawn(outcome.error)
    if outcome.error is not None:
        raise CaseFailed(f"{where}: the statements are refused\n{_indented(outcome.error.split(chr(10)))}")
    if section.kind == "dead letters":
        return _shown(outcome.dead_letters).split("\n") if outcome.dead_letters else [NOTHING]
    source = find_source(section.name, outcome.sources, where)
    timed = any("@" in line.text for s in case.of_kind("input") for line in s.lines)
    shown = [show_record(r, source, time=timed) for r in outcome.records.get(source.topic, ())]
    return shown or [NOTHING]
