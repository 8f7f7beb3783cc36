"""The ``ksqlpy`` command: which of :mod:`ksqlpy.commands` is meant, with which options.

Nothing heavy is imported here: help, and statements for a running server, must come at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ksqlpy.commands import COMMANDS
from ksqlpy.commands.options import add_client, add_session, connection, limits, properties
from ksqlpy.version import __version__

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command with these arguments (``sys.argv`` by default).

    Gives the exit code: 0 done, 1 failed, 2 wrong usage, 3 the service is lost to another server, 130 interrupted.
    """
    from ksqlpy.commands.guard import guarded

    return guarded(lambda: _main(list(sys.argv[1:] if argv is None else argv)))


def _main(arguments: list[str]) -> int:
    parser = _parser()
    try:
        options = parser.parse_args(_with_url(arguments))
    except SystemExit as e:  # argparse has said what is wrong
        return e.code if isinstance(e.code, int) else 2
    texts = [t for t in (options.execute, options.file_) if t is not None]
    if len(texts) + bool(options.command) > 1:
        print("ksqlpy: -e, -f and a command exclude each other", file=sys.stderr)
        return 2
    return _run(options) if texts else int(_module(options.command or "shell").run(options))


def _run(options: argparse.Namespace) -> int:
    """Runs the statements of -e or -f."""
    from ksqlpy.shell.commands import run_file, run_text

    server, given = connection(options), (properties(options), dict(options.variables), limits(options))
    if options.file_ is not None:
        return run_file(options.file_, server, options.output, *given)
    return run_text(options.execute, server, options.output, given[0], True, *given[1:])


def _with_url(arguments: list[str]) -> list[str]:
    """The arguments with a URL that stands alone, as ksqlDB's client takes it, behind ``--server``."""
    if arguments and arguments[-1].startswith(("http://", "https://")):
        before = arguments[-2:-1]
        if not (before and before[0].startswith("-")) and not {c.name for c in COMMANDS} & set(arguments):
            return [*arguments[:-1], "--server", arguments[-1]]
    return arguments


def _module(name: str) -> Any:
    return import_module(f"ksqlpy.commands.{name}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ksqlpy", description="ksqlDB's language and REST API on Apache Spark.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"ksqlpy {__version__}")
    parser.add_argument("-e", "--execute", metavar="SQL", help="run statements on a server and leave")
    parser.add_argument(
        "-f", "--file", dest="file_", metavar="FILE", type=Path, help="run a file on a server and leave"
    )
    add_client(parser, first=True)
    add_session(parser, first=True)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for command in COMMANDS:
        description = command.description or f"{command.help[:1].upper()}{command.help[1:]}."
        sub = subparsers.add_parser(command.name, help=command.help, description=description, allow_abbrev=False)
        _module(command.name).add_arguments(sub)
    return parser


if __name__ == "__main__":
    sys.exit(main())
