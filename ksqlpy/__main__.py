"""The ``ksqlpy`` command: its arguments. What they do at a server is in :mod:`ksqlpy.shell.commands`.

Nothing heavy is imported here: help, and statements for a running server, must come at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ksqlpy import __version__

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command with these arguments (``sys.argv`` by default).

    Gives the exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["demo"]:  # has its own arguments
        return _demo(arguments[1:])
    parser = _parser()
    try:
        options = parser.parse_args(arguments)
    except SystemExit as e:  # argparse has said what is wrong
        return e.code if isinstance(e.code, int) else 2
    if options.execute is not None and options.command:
        print("ksqlpy: -e and a command exclude each other", file=sys.stderr)
        return 2
    from ksqlpy.shell import commands

    if options.execute is not None:
        return commands.execute(options.execute, options.server, options.output, options.define)
    match options.command:
        case "run":
            return commands.run(options.file, options.server, options.output, options.define)
        case "server":
            return _server(options)
        case "jars":
            return commands.jars(options.to) if options.to else commands.prepare()
    parser.print_help(sys.stderr)
    return 2


def _server(options: argparse.Namespace) -> int:
    """Runs a server until it is told to stop; later sources win: file, environment, -D, options."""
    from ksqlpy.shell.commands import guarded

    def body() -> int:
        from ksqlpy.config import Config
        from ksqlpy.embedded.cache import StatusLine

        values = Config.from_file(options.config) if options.config else {}
        config = Config.of({**values, **Config.from_environment(), **dict(options.define), **_flags(options)})
        from ksqlpy.server.run import serve

        serve(config, StatusLine())
        return 0

    return guarded(body)


def _demo(arguments: list[str]) -> int:
    from ksqlpy.shell.commands import guarded

    def body() -> int:
        from ksqlpy.demo import run

        return run(arguments)

    return guarded(body)


def _flags(options: argparse.Namespace) -> dict[str, str]:
    flags = {
        "ksqlpy.host": options.host,
        "ksqlpy.port": options.port,
        "bootstrap.servers": options.bootstrap_servers,
        "ksqlpy.data.dir": options.data_dir,
    }
    return {name: value for name, value in flags.items() if value is not None}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ksqlpy", description="ksqlDB's language and REST API on Apache Spark.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"ksqlpy {__version__}")
    parser.add_argument("-e", "--execute", metavar="SQL", help="run statements on a server and leave")
    _client_options(parser, first=True)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    run = commands.add_parser("run", help="run the statements of a file on a server", allow_abbrev=False)
    run.add_argument("file", type=Path, metavar="FILE.sql")
    _client_options(run, first=False)

    server = commands.add_parser(
        "server",
        help="start a server",
        description="Starts a server. Properties come from the file, then KSQLPY_… variables, then -D, then options.",
        allow_abbrev=False,
    )
    server.add_argument("--port", metavar="N", help="port to listen on (default 8088; 0: any free one)")
    server.add_argument("--host", metavar="H", help="address to listen on (default 127.0.0.1)")
    server.add_argument("--bootstrap-servers", metavar="B", help="Kafka to use (default: one is started)")
    server.add_argument("--data-dir", metavar="D", help="folder for what must outlive the server")
    server.add_argument("--config", metavar="FILE", type=Path, help="file of key=value lines")
    _define_option(server, first=False)

    jars = commands.add_parser("jars", help="fetch what the first start would fetch", allow_abbrev=False)
    jars.add_argument("--to", metavar="DIR", type=Path, help="copy the jars there, for a machine without network")

    commands.add_parser("demo", help="taxi rides through queries, with every result checked", add_help=False)
    return parser


def _client_options(parser: argparse.ArgumentParser, first: bool) -> None:
    # An option may stand before or after the command; only the first parser has defaults, or they would win.
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
    _define_option(parser, first)


def _define_option(parser: argparse.ArgumentParser, first: bool) -> None:
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


if __name__ == "__main__":
    sys.exit(main())
