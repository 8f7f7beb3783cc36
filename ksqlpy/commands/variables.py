"""Options of the commands that take files of statements: values for ``${name}``."""

from __future__ import annotations

import argparse
from pathlib import Path

from ksqlpy.commands.values import pair

__all__ = ["add_variables", "variables_of"]


def add_variables(parser: argparse.ArgumentParser) -> None:
    """``-d NAME=VALUE``, as often as wanted, and ``--vars FILE``."""
    parser.add_argument(
        "-d",
        "--define",
        dest="variables",
        metavar="NAME=VALUE",
        action="append",
        type=pair,
        default=[],
        help="the value of ${NAME}; may be given several times",
    )
    parser.add_argument("--vars", metavar="FILE", type=Path, help="file of NAME=VALUE lines; -d comes before it")


def variables_of(options: argparse.Namespace) -> dict[str, str]:
    """The values by name; raises ConfigProblem for a file that cannot be read."""
    if options.vars is None:
        return dict(options.variables)
    from ksqlpy.project.files import read_variables

    return {**read_variables(options.vars), **dict(options.variables)}
