"""``ksqlpy examples``: the examples that come with ksqlpy: listed, run and compared, copied."""

from __future__ import annotations

import argparse
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ksqlpy.commands.runner import IN_MEMORY, ON_KAFKA, case_runner
from ksqlpy.errors import ConfigProblem, EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ksqlpy.testing import Case
    from ksqlpy.testing.stories import Story
    from ksqlpy.testing.suite import Verdict

__all__ = ["add_arguments", "run"]

MOST = 8
"""Lines of a section, and of what a program prints, that are shown."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy examples`` and its commands."""
    parser.add_argument("--list", action="store_true", help="list the examples, one a line (the same as no command)")
    commands = parser.add_subparsers(dest="examples", metavar="COMMAND")

    def command(name: str, help: str) -> argparse.ArgumentParser:
        found = commands.add_parser(name, help=help, description=f"{help[:1].upper()}{help[1:]}.", allow_abbrev=False)
        found.add_argument("name", metavar="NAME", help="of the example, as the list has it")
        return found

    one = command("run", "run an example, show its statements and records, compare what comes out")
    one.add_argument("--kafka", action="store_true", help="on a Kafka broker, in real-time mode (default: in memory)")
    one.add_argument("--quiet", action="store_true", help="print the checks only")
    copied = command("copy", "copy the files of an example")
    copied.add_argument("folder", metavar="FOLDER", nargs="?", type=Path, help="folder to make (default: NAME, here)")


def run(options: argparse.Namespace) -> int:
    """Does it: 0 when all comes out as expected, 1 when something does not. Raises KsqlError."""
    from ksqlpy.testing.stories import copy_story, find_story

    if options.list or options.examples is None:
        _list()
        return 0
    story = find_story(options.name)
    if options.examples == "copy":
        folder = copy_story(story, options.folder or Path(story.name))
        print(f"{story.name} is copied to {folder}: {', '.join(sorted(f.name for f in folder.iterdir()))}")
        return 0
    if not story.runs:
        raise ConfigProblem(
            "no-runnable-example",
            f"the example {story.name} has files to copy, and nothing to run",
            hint=f"ksqlpy examples copy {story.name}; its README.md says how it is used",
        )
    if story.program is not None and options.kafka:
        said = f"{story.name} is a program, which chooses by itself where it runs: leave --kafka out"
        print(f"ksqlpy examples: {said}", file=sys.stderr)
        return 2
    if story.missing:
        said = f"the example {story.name} needs {' and '.join(story.missing)}, not installed here"
        raise EnvironmentProblem("missing-package", said, hint="pip install 'ksqlpy[examples]'")
    began = time.monotonic()
    print(f"{story.name}: {_plain(story.about)}")
    failed, checks = _run_program(story, options) if story.program is not None else _run_cases(story, options)
    result = f"{failed} of {checks} checks failed" if failed else f"{checks} check{'s' * (checks > 1)} passed"
    print(f"{story.name}: {result} in {time.monotonic() - began:.1f} s")
    return 1 if failed else 0


def _list() -> None:
    from ksqlpy.testing.stories import read_stories

    stories = read_stories()
    width = max(len(s.name) for s in stories)
    for runs in (True, False):
        print("ksqlpy examples run NAME" if runs else "\nksqlpy examples copy NAME")
        for story in (s for s in stories if s.runs is runs):
            print(f"  {story.name:{width}}  {_plain(story.about)}")


def _plain(about: str) -> str:
    """A line of a page, for a terminal."""
    return about.replace("`", "")


# ---------------------------------------------------------------- statements


def _run_cases(story: Story, options: argparse.Namespace) -> tuple[int, int]:
    """Runs the cases; gives how many failed, of how many."""
    from ksqlpy.testing.suite import read_all, run_cases

    cases, verdicts = read_all(story.tests)
    for verdict in verdicts:
        print(f"FAILED {verdict.message}")
    if not options.quiet:
        for file in sorted(story.folder.glob("*.sql")):
            print(f"\n{_indented(_queries(file))}")
    shown = iter(cases)

    def each(verdict: Verdict) -> None:
        _show(next(shown), verdict, quiet=options.quiet)

    if cases:
        with case_runner(kafka=options.kafka) as runner:
            verdicts += run_cases(cases, runner, ON_KAFKA if options.kafka else IN_MEMORY, each)
    return sum(v.kind == "failed" for v in verdicts), len(verdicts)


def _queries(file: Path) -> str:
    """The statements of a file that make queries, as it has them."""
    from ksqlpy.sql import parse

    parsed = parse(file.read_text(encoding="utf-8"))
    return "\n\n".join(p.text.strip() for p in parsed if p.node.args.get("query") is not None)


def _show(case: Case, verdict: Verdict, *, quiet: bool) -> None:
    if not quiet:
        print()
    print(f"{'FAILED' if verdict.kind == 'failed' else 'ok    '} {case.name}", flush=True)
    if verdict.kind == "failed":
        print(_indented(verdict.message), flush=True)
    elif not quiet:
        for section in case.sections:
            print(f"    --- {section.kind} {section.name}".rstrip())
            print(_indented(_first([line.text for line in section.lines])), flush=True)


def _first(lines: Sequence[str]) -> str:
    left = len(lines) - MOST
    return "\n".join([*lines[:MOST], f"({left:,} more)"] if left > 1 else lines)


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")


# ---------------------------------------------------------------- programs


def _run_program(story: Story, options: argparse.Namespace) -> tuple[int, int]:
    """Runs the program; gives how many checks failed, of how many."""
    from ksqlpy.embedded.folders import scratch_folder
    from ksqlpy.embedded.process import ended_in_order
    from ksqlpy.testing.stories import EXPECTED, PROGRAM, run_program

    with ended_in_order(), scratch_folder("ksqlpy-example-") as folder:
        wrong = run_program(story, folder)
    print(f"\n{'FAILED' if wrong else 'ok    '} {PROGRAM}")
    if wrong:
        print(_indented("\n".join(wrong)))
    elif not options.quiet:
        print(_indented(_first((story.folder / EXPECTED).read_text(encoding="utf-8").rstrip("\n").split("\n"))))
    return int(bool(wrong)), 1
