"""The ``ksqlpy`` command: which of :mod:`ksqlpy.commands` is meant, with which options.

Nothing heavy is imported here: help, and statements for a running server, must come at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ksqlpy import __version__
from ksqlpy.commands import COMMANDS
from ksqlpy.commands.options import add_client

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command with these arguments (``sys.argv`` by default).

    Gives the exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = _parser()
    try:
        options = parser.parse_args(arguments)
    except SystemExit as e:  # argparse has said what is wrong
        return e.code if isinstance(e.code, int) else 2
    if options.execute is not None and options.command:
        print("ksqlpy: -e and a command exclude each other", file=sys.stderr)
        return 2
    from ksqlpy.commands.guard import guarded

    if options.command:
        return guarded(lambda: int(_module(options.command).run(options)))
    if options.execute is not None:
        from ksqlpy.shell.commands import run_text

        properties = dict(options.define)
        return guarded(lambda: run_text(options.execute, options.server, options.output, properties, complete=True))
    parser.print_help(sys.stderr)
    return 2


def _module(name: str) -> Any:
    return import_module(f"ksqlpy.commands.{name}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ksqlpy", description="ksqlDB's language and REST API on Apache Spark.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"ksqlpy {__version__}")
    parser.add_argument("-e", "--execute", metavar="SQL", help="run statements on a server and leave")
    add_client(parser, first=True)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for command in COMMANDS:
        description = command.description or f"{command.help[:1].upper()}{command.help[1:]}."
        sub = subparsers.add_parser(command.name, help=command.help, description=description, allow_abbrev=False)
        _module(command.name).add_arguments(sub)
    return parser


if __name__ == "__main__":
    sys.exit(main())
