"""``ksqlpy apply DIR``: brings a server to what the files say."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from ksqlpy.commands.options import connection
from ksqlpy.commands.plan import add_project, planned, refused

if TYPE_CHECKING:
    from ksqlpy.project.plan import Change

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy apply``."""
    add_project(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask before state is lost")
    parser.add_argument("--dry-run", action="store_true", help="plan, let the server check it, and do nothing")


def run(options: argparse.Namespace) -> int:
    """Plans, asks where state would be lost, and does it: 0 done, 1 refused or not wanted. Raises KsqlError."""
    from ksqlpy.client import Client
    from ksqlpy.project import show
    from ksqlpy.project.apply import check_on_server, run_steps
    from ksqlpy.shell.output import escaped

    def tell(line: str) -> None:
        print(escaped(line), flush=True)

    with Client(connection(options)) as client:
        plan = planned(options, client)
        if refused(plan):
            return 1
        print(escaped(show.text(plan), keep="\n"), flush=True)
        check_on_server(client, plan.steps)
        if options.dry_run or not plan.steps:
            return 0
        if plan.destroys and not options.yes and not _agreed(plan.destroys):
            print("nothing was changed")
            return 1
        run_steps(client, plan.steps, tell)
        print(f"done: {len(plan.steps)} statement{'' if len(plan.steps) == 1 else 's'}")
    return 0


def _agreed(lost: list[Change]) -> bool:
    """Whether somebody at the terminal says yes; raises ConfigProblem ``needs-yes`` where nobody can."""
    from ksqlpy.errors import ConfigProblem

    names = ", ".join(c.name for c in lost)
    if not sys.stdin.isatty():
        raise ConfigProblem("needs-yes", f"the state of {names} would be lost", hint="--yes allows it")
    return input(f"The state of {names} will be lost. Go on? Type yes: ").strip().lower() == "yes"
