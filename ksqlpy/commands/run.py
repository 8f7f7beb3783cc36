"""``ksqlpy run FILE.sql``: the statements of a file on a server."""

from __future__ import annotations

import argparse
from pathlib import Path

from ksqlpy.commands.options import add_client, add_session, connection, limits, properties

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy run``."""
    parser.add_argument("file", type=Path, metavar="FILE.sql")
    add_client(parser)
    add_session(parser)


def run(options: argparse.Namespace) -> int:
    """Runs them one after the other; the first that fails is the last. Raises KsqlError."""
    from ksqlpy.shell.commands import run_file

    return run_file(
        options.file,
        connection(options),
        options.output,
        properties(options),
        dict(options.variables),
        limits(options),
    )
