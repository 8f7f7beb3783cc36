"""``ksqlpy users``: who may log in by name and password."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ksqlpy.commands.options import add_define, form, secret_from

__all__ = ["add_arguments", "login_file", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy users`` and its commands."""
    commands = parser.add_subparsers(dest="users", metavar="COMMAND", required=True)

    def command(name: str, help: str) -> argparse.ArgumentParser:
        found = commands.add_parser(name, help=help, description=f"{help[:1].upper()}{help[1:]}.", allow_abbrev=False)
        found.add_argument("--users-file", metavar="FILE", type=Path, help="default: ksqlpy.auth.users.file")
        found.add_argument("--config", metavar="FILE", type=Path, help="the server's file of key=value lines")
        add_define(found)
        return found

    add = command("add", "add a user, or give one another password and other roles; it is asked for the password")
    add.add_argument("name", metavar="NAME")
    add.add_argument("--roles", metavar="R,R", default="", help="roles, with commas between them")
    add.add_argument("--password-file", metavar="FILE", type=Path, help="the password is its first line; -: of stdin")
    command("list", "list users and their roles").add_argument(
        "--output", choices=("table", "json", "csv"), default=argparse.SUPPRESS, help="form of the list"
    )
    command("remove", "remove a user, who is refused at once").add_argument("name", metavar="NAME")


def run(options: argparse.Namespace) -> int:
    """Does it. Raises KsqlError."""
    from ksqlpy.server.auth.files import checked_name, checked_roles
    from ksqlpy.server.auth.login import USERS
    from ksqlpy.server.auth.users import add_user, remove_user, users_of

    file = login_file(options, options.users_file, USERS)
    if options.users == "list":
        _list(form(options, "users list", "table", "json", "csv"), [(u.name, u.roles) for u in users_of(file).values()])
        return 0
    if options.users == "remove":
        remove_user(file, options.name)
        print(f"user {options.name} is removed")
        return 0
    name, roles = checked_name(options.name), checked_roles(options.roles)
    password = secret_from(options.password_file, f"password of {name}", twice=True)
    there = add_user(file, name, password, roles)
    print(f"user {name} is {'changed' if there else 'added'}")
    return 0


def login_file(options: argparse.Namespace, given: Path | None, name: str) -> Path:
    """The file of the option, or that of the server's property; raises ConfigProblem ``login-file``."""
    from ksqlpy.config import Config
    from ksqlpy.errors import ConfigProblem

    if given is not None:
        return given.absolute()
    values = Config.from_file(options.config) if options.config else {}
    config = Config.of({**values, **Config.from_environment(), **dict(options.define)})
    if not config.get(name):
        raise ConfigProblem(
            "login-file", f"no file is named, and {name} is not set", hint="name one, or --config the server's file"
        )
    return Path(config.get(name))


def _list(output: str, users: list[tuple[str, frozenset[str]]]) -> None:
    from ksqlpy.shell.output import Printer

    rows = [(name, ", ".join(sorted(roles))) for name, roles in sorted(users)]
    if output == "json":
        for name, roles in sorted(users):
            Printer("json").data({"name": name, "roles": sorted(roles)})
    else:
        Printer(output).table(("Name", "Roles"), rows, "no users")
    sys.stdout.flush()
