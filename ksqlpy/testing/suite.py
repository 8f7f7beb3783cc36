"""Many cases of many files: which of them, side by side, and what became of each."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ksqlpy.errors import ConfigProblem
from ksqlpy.testing.cases import Case, FileProblem, read_cases
from ksqlpy.testing.check import CaseFailed, Runner, check

__all__ = ["Selection", "Verdict", "find_files", "judge", "read_all", "run_cases"]

SUFFIX = ".test"


@dataclass(frozen=True)
class Verdict:
    """What became of a case, or of a file that cannot be understood (then without a case).

    ``kind``: ``known fault`` is a failure that the file expects; ``message``: the difference, with its places.
    """

    file: Path
    case: str
    kind: Literal["passed", "failed", "known fault"]
    message: str = ""
    seconds: float = 0.0


def find_files(places: Iterable[Path]) -> list[Path]:
    """The files, and those of the folders whose names end with ``.test``; raises ConfigProblem ``no-test-files``."""
    found: list[Path] = []
    for place in places:
        if place.is_dir():
            inside = sorted(place.rglob(f"*{SUFFIX}"))
            if not inside:
                raise ConfigProblem("no-test-files", f"there is no file *{SUFFIX} in {place}")
            found += inside
        elif place.is_file():
            found.append(place)
        else:
            raise ConfigProblem("no-test-files", f"there is no file {place}")
    return list(dict.fromkeys(found))


def read_all(files: Iterable[Path], project: str = "") -> tuple[list[Case], list[Verdict]]:
    """The cases of the files, with the statements of a project, and a failure for each file that cannot be read."""
    cases: list[Case] = []
    bad: list[Verdict] = []
    for file in files:
        try:
            cases += read_cases(file, project)
        except FileProblem as e:
            bad.append(Verdict(file, "", "failed", e.summary()))
    return cases, bad


class Selection:
    """Chooses cases by an expression: words, and ``and``, ``or``, ``not`` and parentheses between them.

    A word is part of the file's name or of the case's, in any case. Raises ConfigProblem ``bad-selection``.
    """

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._tokens = re.findall(r"[()]|[^\s()]+", expression)
        self("")

    def __call__(self, name: str) -> bool:
        """Whether a case is chosen, by the names of its file and its own."""
        self._left = list(self._tokens)
        found = self._either(name.lower())
        if self._left:
            raise self._wrong()
        return found

    def _wrong(self) -> ConfigProblem:
        hint = "words with and, or, not and parentheses between them: joins and not (left or outer)"
        return ConfigProblem("bad-selection", f"{self._expression!r} is no choice of cases", hint=hint)

    def _either(self, name: str) -> bool:
        found = self._both(name)
        while self._left[:1] == ["or"]:
            del self._left[0]
            found = self._both(name) or found
        return found

    def _both(self, name: str) -> bool:
        found = self._one(name)
        while self._left[:1] == ["and"]:
            del self._left[0]
            found = self._one(name) and found
        return found

    def _one(self, name: str) -> bool:
        if not self._left or self._left[0] in ("and", "or", ")"):
            raise self._wrong()
        token = self._left.pop(0)
        if token == "not":
            return not self._one(name)
        if token != "(":
            return token.lower() in name
        found = self._either(name)
        if self._left[:1] != [")"]:
            raise self._wrong()
        del self._left[0]
        return found


def judge(case: Case, runner: Runner) -> Verdict:
    """Runs a case; one with a known fault must fail."""
    began = time.monotonic()
    message = ""
    try:
        check(case, runner)
    except (CaseFailed, FileProblem) as e:
        message = e.summary() if isinstance(e, FileProblem) else str(e)
    seconds = time.monotonic() - began
    if case.known_fault is None:
        return Verdict(case.file, case.name, "failed" if message else "passed", message, seconds)
    if message:
        return Verdict(case.file, case.name, "known fault", case.known_fault, seconds)
    [section] = case.of_kind("known fault")
    said = f"{case.where(section.number)}: case {case.name!r} passes: take its known fault out"
    return Verdict(case.file, case.name, "failed", said, seconds)


def run_cases(cases: Sequence[Case], runner: Runner, jobs: int, each: Callable[[Verdict], None]) -> list[Verdict]:
    """Runs cases, so many at a time; ``each`` gets every verdict, in the order of the cases."""
    verdicts = []
    pool = ThreadPoolExecutor(jobs, thread_name_prefix="case")
    try:
        for verdict in pool.map(lambda case: judge(case, runner), cases):
            verdicts.append(verdict)
            each(verdict)
    finally:
        pool.shutdown(cancel_futures=True)
    return verdicts
