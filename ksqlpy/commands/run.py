"""``ksqlpy run FILE.sql``: the statements of a file on a server."""

from __future__ import annotations

import argparse
from pathlib import Path

from ksqlpy.commands.options import add_client

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy run``."""
    parser.add_argument("file", type=Path, metavar="FILE.sql")
    add_client(parser)


def run(options: argparse.Namespace) -> int:
    """Runs them one after the other; the first that fails is the last. Raises KsqlError."""
    from ksqlpy.shell.commands import run_file

    return run_file(options.file, options.server, options.output, dict(options.define))
