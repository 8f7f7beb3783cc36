"""``ksqlpy plan DIR``: what would change on a server so that it has what the files say."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ksqlpy.commands.options import add_client, connection, form
from ksqlpy.commands.variables import add_variables, variables_of

if TYPE_CHECKING:
    from ksqlpy.project.plan import Plan
    from ksqlpy.project.state import Server

__all__ = ["add_arguments", "add_project", "planned", "refused", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy plan``."""
    add_project(parser)
    parser.add_argument("--detailed-exitcode", action="store_true", help="exit code 2 if there is something to do")


def add_project(parser: argparse.ArgumentParser) -> None:
    """The options that ``plan`` and ``apply`` share."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of .sql files, or one file")
    parser.add_argument("--prune", action="store_true", help="what the server has and the files do not goes")
    add_client(parser)
    add_variables(parser)


def run(options: argparse.Namespace) -> int:
    """Prints the plan: 0, or 2 under --detailed-exitcode if it changes something; 1 if it cannot be done."""
    from ksqlpy.client import Client
    from ksqlpy.project import show
    from ksqlpy.project.apply import check_on_server
    from ksqlpy.shell.output import Printer, escaped

    as_json = form(options, "plan", "table", "json") == "json"
    with Client(connection(options)) as client:
        plan = planned(options, client)
        if as_json:
            Printer("json").data(show.as_json(plan), indent=2)
        elif not plan.faults:
            print(escaped(show.text(plan), keep="\n"))
        if refused(plan, quiet=as_json):
            return 1
        check_on_server(client, plan.steps)
    return 2 if options.detailed_exitcode and plan.steps else 0


def planned(options: argparse.Namespace, client: Server) -> Plan:
    """The plan for the folder; raises KsqlError."""
    from ksqlpy.project.functions import read_project
    from ksqlpy.project.plan import make_plan
    from ksqlpy.project.state import read_state

    files, variables = read_project([options.folder]), variables_of(options)
    return make_plan(files, read_state(client), variables, dict(options.define), prune=options.prune)


def refused(plan: Plan, *, quiet: bool = False) -> bool:
    """Whether the plan has faults, which are drawn on stderr."""
    import sys

    from ksqlpy.shell.output import escaped

    for fault in () if quiet else plan.faults:
        print(escaped(fault.render(), keep="\n"), end="\n\n", file=sys.stderr)
    return bool(plan.faults)
