"""``ksqlpy tokens``: tokens by which programs log in."""

from __future__ import annotations

import argparse
import re
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from ksqlpy.commands.options import add_define, form
from ksqlpy.commands.users import login_file

__all__ = ["add_arguments", "run"]

_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy tokens`` and its commands."""
    commands = parser.add_subparsers(dest="tokens", metavar="COMMAND", required=True)

    def command(name: str, help: str) -> argparse.ArgumentParser:
        found = commands.add_parser(name, help=help, description=f"{help[:1].upper()}{help[1:]}.", allow_abbrev=False)
        found.add_argument("--tokens-file", metavar="FILE", type=Path, help="default: ksqlpy.auth.tokens.file")
        found.add_argument("--config", metavar="FILE", type=Path, help="the server's file of key=value lines")
        add_define(found)
        return found

    create = command("create", "make a token and print it, this once: the file keeps a hash")
    create.add_argument("name", metavar="NAME", help="who uses it")
    create.add_argument("--roles", metavar="R,R", default="", help="roles, with commas between them")
    create.add_argument(
        "--expires", metavar="T", type=_lifetime, default=90 * 86_400, help="12h, 90d, 8w or never (default 90d)"
    )
    command("list", "list tokens, with their roles, expiry and last use").add_argument(
        "--output", choices=("table", "json", "csv"), default=argparse.SUPPRESS, help="form of the list"
    )
    command("revoke", "remove a token, which is refused at once").add_argument("id", metavar="ID", help="of the list")


def run(options: argparse.Namespace) -> int:
    """Does it. Raises KsqlError."""
    from ksqlpy.server.auth.files import checked_roles
    from ksqlpy.server.auth.login import TOKENS
    from ksqlpy.server.auth.tokens import create_token, revoke_token

    file = login_file(options, options.tokens_file, TOKENS)
    if options.tokens == "list":
        _list(form(options, "tokens list", "table", "json", "csv"), file)
    elif options.tokens == "revoke":
        token = revoke_token(file, options.id)
        print(f"token {token.id} of {token.name} is revoked")
    else:
        expires = int(time.time()) + options.expires if options.expires else 0
        print(create_token(file, options.name, checked_roles(options.roles), expires), flush=True)
        until = f"until {_time(expires)}" if expires else "and never expires"
        print(f"it holds {until}, and is not shown again", file=sys.stderr)
    return 0


def _list(output: str, file: Path) -> None:
    from ksqlpy.server.auth.tokens import last_uses, tokens_of
    from ksqlpy.shell.output import Printer

    used = last_uses(file)
    names = ("Id", "Name", "Roles", "Made", "Expires", "Last use")
    tokens = [
        (t.id, t.name, sorted(t.roles), _time(t.made), _time(t.expires), _time(used.get(t.id, 0)))
        for t in tokens_of(file)
    ]
    if output == "json":
        for token in tokens:
            Printer("json").data({n.lower().replace(" ", "_"): v or None for n, v in zip(names, token, strict=True)})
    else:
        rows = [(id, name, ", ".join(roles), *times) for id, name, roles, *times in tokens]
        Printer(output).table(names, rows, "no tokens")


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if seconds else ""


def _lifetime(text: str) -> int:
    """Seconds; 0 for ever."""
    if text == "never":
        return 0
    found = re.fullmatch(r"([1-9][0-9]{0,4})([mhdw])", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 30m, 12h, 90d or 8w, and not never")
    return int(found[1]) * _SECONDS[found[2]]
