"""``ksqlpy`` and ``ksqlpy shell [URL]``: the interactive shell; statements from a pipe without one."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from ksqlpy.commands.options import add_client, add_session, connection, limits, properties

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy shell``."""
    parser.add_argument(
        "server", metavar="URL", nargs="?", default=argparse.SUPPRESS, help="the server (default http://127.0.0.1:8088)"
    )
    add_client(parser)
    add_session(parser)


def run(options: argparse.Namespace) -> int:
    """Talks with a person, or runs what is on standard input. Raises KsqlError."""
    from ksqlpy.client import Waiting
    from ksqlpy.shell.output import Printer
    from ksqlpy.shell.repl import interact, run_lines
    from ksqlpy.shell.session import Session

    person = sys.stdin.isatty()
    there = connection(options)
    session = Session(
        replace(there, waiting=Waiting()) if person else there,  # a person sees that none answers, and asks again
        Printer(options.output),
        properties(options),
        dict(options.variables),
        limits=limits(options),
        interactive=person,
    )
    return interact(session) if person else run_lines(session, sys.stdin)
