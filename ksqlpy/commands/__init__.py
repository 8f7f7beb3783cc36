"""The commands of ``ksqlpy``, one file each: ``add_arguments(parser)`` says what it takes, ``run(options)`` does it.

:data:`COMMANDS` is the table of them. What is heavy is imported in ``run``: help must come at once.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["COMMANDS", "Command"]


class Command(NamedTuple):
    """A command: its name, which is its module's too, what ``ksqlpy --help`` says, and its own first lines."""

    name: str
    help: str
    description: str | None = None


COMMANDS = (
    Command(
        "shell",
        "talk with a server (the same as no command)",
        "Talks with a server; where no terminal is, runs what comes on standard input.",
    ),
    Command("run", "run the statements of a file on a server"),
    Command(
        "server",
        "start a server",
        "Starts a server. Properties come from the file, then KSQLPY_… variables, then -D, then options.",
    ),
    Command("jars", "fetch what the first start would fetch"),
    Command(
        "demo",
        "taxi rides through queries, with every result checked",
        "Taxi rides through broker, server and queries; every result is checked.",
    ),
)
