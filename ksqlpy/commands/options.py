"""Options that several commands share."""

from __future__ import annotations

import argparse

__all__ = ["add_client", "add_define"]


def add_client(parser: argparse.ArgumentParser, *, first: bool = False) -> None:
    """The options of everything that talks to a server: ``--server``, ``--output``, ``-D``.

    They may stand before or after the command. ``first``: this is the parser of what stands before; only that one has
    defaults, or the others' would win.
    """
    parser.add_argument(
        "--server",
        metavar="URL",
        default="http://127.0.0.1:8088" if first else argparse.SUPPRESS,
        help="the server (default http://127.0.0.1:8088)",
    )
    parser.add_argument(
        "--output",
        choices=("table", "json"),
        default="table" if first else argparse.SUPPRESS,
        help="for people, or one JSON object a line",
    )
    add_define(parser, first=first)


def add_define(parser: argparse.ArgumentParser, *, first: bool = False) -> None:
    """``-D KEY=VALUE``, as often as wanted: ``options.define`` is the list of pairs."""
    parser.add_argument(
        "-D",
        dest="define",
        metavar="KEY=VALUE",
        action="append",
        type=_pair,
        default=[] if first else argparse.SUPPRESS,
        help="set a property; may be given several times",
    )


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key.strip(), value
