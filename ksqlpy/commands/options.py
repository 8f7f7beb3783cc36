"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ksqlpy.commands.values import count, pair, seconds

if TYPE_CHECKING:
    from ksqlpy.client import Connection
    from ksqlpy.shell.session import Limits

__all__ = [
    "add_client",
    "add_define",
    "add_insecure",
    "add_kafka",
    "add_session",
    "connection",
    "form",
    "kafka_settings",
    "limits",
    "properties",
    "secret_from",
]


def add_client(parser: argparse.ArgumentParser, *, first: bool = False) -> None:
    """The options of everything that talks to a server: ``--server``, ``--output``, ``--wait``, ``-D``.

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
        type=_output,
        choices=("table", "json", "csv"),
        default="table" if first else argparse.SUPPRESS,
        help="for people (TABULAR too), one JSON object a line, or CSV",
    )
    parser.add_argument(
        "--wait",
        metavar="S",
        type=_wait,
        default=None if first else argparse.SUPPRESS,
        help="seconds to wait for a server that is starting (default: 10 for its first answer, then 300; 0: none)",
    )
    add_define(parser, first=first)


def add_define(parser: argparse.ArgumentParser, *, first: bool = False) -> None:
    """``-D KEY=VALUE``, as often as wanted: ``options.define`` is the list of pairs."""
    parser.add_argument(
        "-D",
        dest="define",
        metavar="KEY=VALUE",
        action="append",
        type=pair,
        default=[] if first else argparse.SUPPRESS,
        help="set a property; may be given several times",
    )


def add_kafka(parser: argparse.ArgumentParser | argparse._ArgumentGroup, text: str) -> None:
    """``--bootstrap-servers``, of which ``text`` says what it is for, and ``--config``."""
    parser.add_argument("--bootstrap-servers", metavar="B", help=text)
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="file of key=value lines: how the brokers are reached (TLS, login)"
    )


def kafka_settings(options: argparse.Namespace) -> dict[str, str]:
    """The properties of the file, then of the environment, then those of the options of :func:`add_kafka`.

    Raises ConfigProblem ``config-unreadable``.
    """
    from ksqlpy.config import Config

    given = Config.from_file(options.config) if options.config else {}
    named = {"bootstrap.servers": options.bootstrap_servers} if options.bootstrap_servers else {}
    return {**given, **Config.from_environment(), **named}


def add_insecure(parser: argparse.ArgumentParser) -> None:
    """``--insecure`` of what serves: ``options.exposed``; for what connects the same word means certificates."""
    text = "listen on an address that other machines reach, though nobody is asked for a login"
    parser.add_argument("--insecure", dest="exposed", action="store_const", const="true", help=text)


def add_session(parser: argparse.ArgumentParser, *, first: bool = False) -> None:
    """What else a session may bring: variables, properties of a file, login, certificates, limits of queries.

    They have the names that ksqlDB's command line client gives them. ``first``: see :func:`add_client`.
    """

    def add(*names: str, default: object = None, **more: object) -> None:
        parser.add_argument(*names, default=default if first else argparse.SUPPRESS, **more)  # type: ignore[arg-type]

    text = "give a variable a value, for ${NAME} in statements; may be given several times"
    add("-d", "--define", dest="variables", metavar="NAME=VALUE", action="append", type=pair, default=[], help=text)
    add("--config-file", metavar="FILE", type=Path, help="file of key=value lines: properties of the session")
    add("-u", "--user", metavar="NAME", help="name for a server that asks for one")
    add("-p", "--password", metavar="WORD", help="its password; others see it here, so rather use KSQLPY_PASSWORD")
    add("--password-file", metavar="FILE", type=Path, help="the password is its first line; -: of standard input")
    add("--token-file", metavar="FILE", type=Path, help="a token in place of name and password, or KSQLPY_TOKEN")
    add("--cacert", metavar="FILE", type=Path, help="certificates to trust for https")
    add("--cert", metavar="FILE", type=Path, help="certificate for a server that asks clients for one")
    add("--key", metavar="FILE", type=Path, help="its key, if that is not in the same file")
    add("--insecure", action="store_true", default=False, help="trust any certificate for https")
    add("--query-row-limit", metavar="N", type=count, help="end a streamed query after N rows")
    add("--query-timeout", metavar="MS", type=count, help="end a streamed query after MS milliseconds")


def connection(options: argparse.Namespace) -> Connection:
    """How the server is reached. A name without a password is asked for it, if a person is there to ask.

    What options do not say, the environment does: KSQLPY_USER, KSQLPY_PASSWORD, KSQLPY_TOKEN, KSQLPY_CACERT. Raises
    ConfigProblem ``two-logins`` and ``secret-unreadable``.
    """
    import getpass
    import sys

    from ksqlpy.client import AT_START, NOT_YET, Connection, Waiting
    from ksqlpy.shell.progress import Progress

    token = _token(options)
    user = None if token is not None else options.user or os.environ.get("KSQLPY_USER")
    password = options.password if options.password is not None else os.environ.get("KSQLPY_PASSWORD")
    if options.password_file is not None:
        password = secret_from(options.password_file, "password")
    if user and password is None and sys.stdin.isatty():
        password = getpass.getpass(f"password of {user}: ")
    not_yet, starting = (NOT_YET, AT_START) if options.wait is None else (options.wait, options.wait)
    waiting = Waiting(not_yet, starting, Progress().doing)
    cacert = options.cacert or (Path(named) if (named := os.environ.get("KSQLPY_CACERT")) else None)
    return Connection(
        options.server, user, password, cacert, options.insecure, waiting, token, options.cert, options.key
    )


def _token(options: argparse.Namespace) -> str | None:
    from ksqlpy.errors import ConfigProblem

    if options.token_file is None:
        return None if options.user else os.environ.get("KSQLPY_TOKEN") or None
    if options.user:
        raise ConfigProblem("two-logins", "-u and --token-file both say who you are", hint="leave one of them out")
    return secret_from(options.token_file, "token").strip()


def secret_from(file: Path | None, what: str, *, twice: bool = False) -> str:
    """A secret: the first line of the file, of standard input where that is ``-`` or no terminal, or asked for.

    ``twice``: it is a new one, of which a person may mistype. Raises ConfigProblem ``secret-unreadable``.
    """
    import getpass
    import sys

    from ksqlpy.errors import ConfigProblem, file_reason

    if file is not None and str(file) != "-":
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as e:
            raise ConfigProblem("secret-unreadable", f"{file} cannot be read: {file_reason(e)}") from e
    elif file is not None or not sys.stdin.isatty():
        text = sys.stdin.readline()
    else:
        text = getpass.getpass(f"{what}: ")
        if twice and getpass.getpass("again: ") != text:
            raise ConfigProblem("secret-unreadable", f"the {what} was not the same twice")
    found = text.partition("\n")[0].removesuffix("\r")
    if not found:
        raise ConfigProblem("secret-unreadable", f"the {what} is empty")
    return found


def properties(options: argparse.Namespace) -> dict[str, str]:
    """The properties of the file, then those of -D. Raises ConfigProblem ``config-unreadable``."""
    from ksqlpy.config import Config

    return {**(Config.from_file(options.config_file) if options.config_file else {}), **dict(options.define)}


def form(options: argparse.Namespace, command: str, *forms: str) -> str:
    """In which of its forms the command is to print; raises ConfigProblem ``no-such-output`` for any other."""
    from ksqlpy.errors import ConfigProblem

    wanted: str = options.output
    if wanted not in forms:
        raise ConfigProblem(
            "no-such-output", f"{command} does not print {wanted}", hint=f"--output {' or '.join(forms)}"
        )
    return wanted


def limits(options: argparse.Namespace) -> Limits:
    """When streamed queries end by themselves."""
    from ksqlpy.shell.session import Limits

    return Limits(options.query_row_limit, options.query_timeout)


def _wait(text: str) -> float:
    return 0.0 if text == "0" else seconds(text)


def _output(text: str) -> str:
    return {"tabular": "table"}.get(text.lower(), text.lower())
