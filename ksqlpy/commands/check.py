"""``ksqlpy check``: statements checked without a server."""

from __future__ import annotations

import argparse
from pathlib import Path

from ksqlpy.commands.options import add_define, form
from ksqlpy.commands.variables import add_variables, variables_of

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy check``."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="FILE|DIR", help="files, and folders of .sql files")
    parser.add_argument(
        "--output",
        choices=("table", "json"),
        default=argparse.SUPPRESS,
        help="for people, or one JSON object an error",
    )
    add_define(parser)
    add_variables(parser)


def run(options: argparse.Namespace) -> int:
    """Prints all errors: 0 none, 1 some. Raises ConfigProblem for files that cannot be read."""
    from ksqlpy.project.check import check_files
    from ksqlpy.project.functions import read_project
    from ksqlpy.shell.output import Printer, escaped

    as_json = form(options, "check", "table", "json") == "json"
    report = check_files(read_project(options.paths), variables_of(options), dict(options.define))
    if as_json:
        for fault in report.faults:
            Printer("json").data(fault.as_json())
    else:
        for fault in report.faults:
            print(escaped(fault.render(), keep="\n"), end="\n\n")
        print(report.summary())
    return 1 if report.faults else 0
