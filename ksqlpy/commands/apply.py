"""``ksqlpy apply DIR``: brings a server to what the files say."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from ksqlpy.commands.options import connection, form
from ksqlpy.commands.plan import add_project, planned, refused

if TYPE_CHECKING:
    from ksqlpy.project.plan import Change, Plan

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy apply``."""
    add_project(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask before state is lost")
    parser.add_argument("--dry-run", action="store_true", help="plan, let the server check it, and do nothing")


def run(options: argparse.Namespace) -> int:
    """Plans, asks where state would be lost, and does it: 0 done, 1 refused or not wanted. Raises KsqlError.

    With --output json it prints the plan as data and whether it was ``done``; what it does just now goes to stderr.
    """
    from ksqlpy.client import Client
    from ksqlpy.project import show
    from ksqlpy.project.apply import check_on_server, run_steps
    from ksqlpy.shell.output import Printer, escaped

    as_json = form(options, "apply", "table", "json") == "json"

    def tell(line: str, keep: str = "") -> None:
        print(escaped(line, keep=keep), flush=True, file=sys.stderr if as_json else sys.stdout)

    def end(plan: Plan, line: str, *, done: bool, good: bool) -> int:
        if as_json:
            Printer("json").data({**show.as_json(plan), "done": done}, indent=2)
        elif line:
            print(line)
        return 0 if good else 1

    with Client(connection(options)) as client:
        plan = planned(options, client)
        if refused(plan, quiet=as_json):
            return end(plan, "", done=False, good=False)
        tell(show.text(plan), "\n")
        check_on_server(client, plan.steps)
        if options.dry_run or not plan.steps:
            return end(plan, "", done=not plan.steps, good=True)
        if plan.destroys and not options.yes and not _agreed(plan.destroys, ask=not as_json):
            return end(plan, "nothing was changed", done=False, good=False)
        run_steps(client, plan.steps, tell)
        statements = f"{len(plan.steps)} statement{'' if len(plan.steps) == 1 else 's'}"
        return end(plan, f"done: {statements}", done=True, good=True)


def _agreed(lost: list[Change], *, ask: bool) -> bool:
    """Whether somebody at the terminal says yes; raises ConfigProblem ``needs-yes`` where nobody can or is to."""
    from ksqlpy.errors import ConfigProblem

    names = ", ".join(c.name for c in lost)
    if not ask or not sys.stdin.isatty():
        raise ConfigProblem("needs-yes", f"the state of {names} would be lost", hint="--yes allows it")
    return input(f"The state of {names} will be lost. Go on? Type yes: ").strip().lower() == "yes"
