"""``ksqlpy test``: statement-and-expectation files, without Kafka or on a broker of its own."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ksqlpy.commands.runner import IN_MEMORY, ON_KAFKA, case_runner
from ksqlpy.commands.values import count
from ksqlpy.commands.variables import add_variables, variables_of
from ksqlpy.errors import ConfigProblem, file_reason

if TYPE_CHECKING:
    from ksqlpy.testing import Case
    from ksqlpy.testing.suite import Verdict

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy test``."""
    parser.add_argument("places", nargs="+", metavar="FILE|DIR", type=Path, help="files, or folders with *.test files")
    text = "statements of a project, which run ahead of those of each case; may be given several times"
    parser.add_argument("--project", metavar="FILE|DIR", type=Path, action="append", default=[], help=text)
    add_variables(parser)
    parser.add_argument("--complete", action="store_true", help="write the answers into sections that are empty")
    parser.add_argument("--kafka", action="store_true", help="run on a Kafka broker, in real-time mode")
    parser.add_argument("--jobs", metavar="N", type=count, help="cases at the same time (default 4; with --kafka 6)")
    parser.add_argument("-k", dest="choice", metavar="EXPR", help="only cases such as 'joins and not left'")
    parser.add_argument("--junit", metavar="FILE", type=Path, help="write the results as JUnit XML")


def run(options: argparse.Namespace) -> int:
    """Runs the cases: 0 when all pass, 1 when one fails, or the project is refused. Raises KsqlError."""
    from ksqlpy.testing.suite import Selection, find_files, read_all

    if not options.project and (options.vars is not None or options.variables):
        print("ksqlpy test: -d and --vars are for the files of a project: name them with --project", file=sys.stderr)
        return 2
    began = time.monotonic()
    project = _project(options)
    if project is None:
        return 1
    chosen = Selection(options.choice) if options.choice is not None else lambda name: True
    cases, verdicts = read_all(find_files(options.places), project)
    found = [c for c in cases if chosen(f"{c.file.stem}: {c.name}")]
    if options.complete:
        return _complete(found, verdicts, options, project)
    for verdict in verdicts:
        _show(verdict)
    if found:
        verdicts += _run(found, options)
    if options.junit is not None:
        _write(options.junit, verdicts)
    failed = [v for v in verdicts if v.kind == "failed"]
    for verdict in failed if len(verdicts) > 1 else ():
        print(f"failed: {verdict.file}{': ' if verdict.case else ''}{verdict.case}")
    print(f"{_summary(verdicts, len(cases) - len(found))} in {time.monotonic() - began:.1f} s")
    return 1 if failed else 0


def _project(options: argparse.Namespace) -> str | None:
    """The statements of the project; None, and its errors on stderr, where it has some."""
    if not options.project:
        return ""
    from ksqlpy.project.check import check_files
    from ksqlpy.project.functions import read_project
    from ksqlpy.project.script import script
    from ksqlpy.shell.text import escaped

    files, variables = read_project(options.project), variables_of(options)
    report = check_files(files, variables)
    for fault in report.faults:
        print(escaped(fault.render(), keep="\n"), end="\n\n", file=sys.stderr)
    return None if report.faults else script(files, variables)


def _run(cases: Sequence[Case], options: argparse.Namespace) -> list[Verdict]:
    from ksqlpy.testing.suite import run_cases

    with case_runner(kafka=options.kafka) as runner:
        return run_cases(cases, runner, options.jobs or (ON_KAFKA if options.kafka else IN_MEMORY), _show)


def _complete(cases: Sequence[Case], bad: Sequence[Verdict], options: argparse.Namespace, project: str) -> int:
    """Writes the answers of the files of these cases; 1 when a case or a file has none."""
    from ksqlpy.testing import CaseFailed, FileProblem, complete

    for verdict in bad:
        _show(verdict)
    failed = bool(bad)
    files = list(dict.fromkeys(c.file for c in cases if c.open))
    if not files:
        print("no section is empty")
        return 1 if failed else 0
    with case_runner(kafka=options.kafka) as runner:
        for file in files:
            try:
                written = complete(file, runner, project)
            except (CaseFailed, FileProblem) as e:
                print(e, file=sys.stderr)
                failed = True
            else:
                print(f"{file}: {written} answers written: read them before you keep them")
    return 1 if failed else 0


def _show(verdict: Verdict) -> None:
    name = f"{verdict.file}: {verdict.case}" if verdict.case else str(verdict.file)
    marks = {"passed": "ok    ", "failed": "FAILED", "known fault": "fault "}
    print(f"{marks[verdict.kind]} {name}{f' ({verdict.message})' if verdict.kind == 'known fault' else ''}")
    if verdict.kind == "failed":
        print("\n".join(f"    {line}" for line in verdict.message.split("\n")))
    sys.stdout.flush()


def _summary(verdicts: Sequence[Verdict], left_out: int) -> str:
    counts = {kind: sum(v.kind == kind for v in verdicts) for kind in ("passed", "failed", "known fault")}
    words = [f"{n} {kind}" for kind, n in counts.items() if n]
    words += [f"{left_out} left out"] if left_out else []
    return ", ".join(words) or "no cases"


def _write(file: Path, verdicts: Sequence[Verdict]) -> None:
    from ksqlpy.testing.junit import write_junit

    try:
        write_junit(file, verdicts)
    except OSError as e:
        raise ConfigProblem("file-unwritable", f"the results cannot be written to {file}: {file_reason(e)}") from e
