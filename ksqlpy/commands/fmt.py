"""``ksqlpy fmt``: files of statements in one layout."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy fmt``."""
    parser.add_argument("paths", nargs="+", metavar="FILE|DIR|-", help="files, folders of .sql files, or - for stdin")
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 1 if something would change")
    parser.add_argument("--diff", action="store_true", help="change nothing; print what would change")


def run(options: argparse.Namespace) -> int:
    """Formats; 0 done, 1 a file is no SQL, or would change under --check. Raises ConfigProblem."""
    from ksqlpy.errors import ConfigProblem

    if options.paths == ["-"]:
        return _standard_input(options)
    if "-" in options.paths:
        raise ConfigProblem("bad-paths", "'-' (standard input) cannot be combined with other files")
    from ksqlpy.project.files import read_files, write_file

    changed = failed = 0
    files = read_files(map(Path, options.paths))
    for file in files:
        result = _formatted(file.sql, file.name)
        if result is None:
            failed += 1
        elif result != file.sql:
            changed += 1
            if options.diff:
                _print_diff(file.sql, result, file.name)
            elif options.check:
                print(f"would change: {file.name}")
            else:
                write_file(Path(file.name), result)
                print(f"formatted: {file.name}")
    if not options.diff:
        verb = "would change" if options.check else "changed"
        refused = f", {failed} not read" if failed else ""
        print(f"{changed} of {len(files)} file{'' if len(files) == 1 else 's'} {verb}{refused}", file=sys.stderr)
    return 1 if failed or (options.check and changed) else 0


def _standard_input(options: argparse.Namespace) -> int:
    text = sys.stdin.read()
    result = _formatted(text, "<stdin>")
    if result is None:
        return 1
    if options.diff:
        _print_diff(text, result, "<stdin>")
    elif not options.check:
        print(result, end="")
    return 1 if options.check and result != text else 0


def _formatted(sql: str, name: str) -> str | None:
    """The text in its layout; None, with the error on stderr, where it is none of the language."""
    from ksqlpy.errors import StatementError
    from ksqlpy.project.faults import Fault
    from ksqlpy.project.files import File
    from ksqlpy.project.format import format_sql
    from ksqlpy.shell.output import escaped

    try:
        return format_sql(sql)
    except StatementError as e:
        e.sql = sql
        print(escaped(Fault(File(name, sql), e).render(), keep="\n"), file=sys.stderr)
        return None


def _print_diff(before: str, after: str, name: str) -> None:
    from difflib import unified_diff

    lines = unified_diff(before.splitlines(), after.splitlines(), name, f"{name} (formatted)", lineterm="")
    print(*lines, sep="\n")
