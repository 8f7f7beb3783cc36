"""``ksqlpy doctor``: whether Java, the brokers and Spark are such that a server with this configuration can run."""

from __future__ import annotations

import argparse
from pathlib import Path

from ksqlpy.commands.options import add_define

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy doctor``."""
    parser.add_argument("--config", metavar="FILE", type=Path, help="the server's file of key=value lines")
    add_define(parser)


def run(options: argparse.Namespace) -> int:
    """Prints each check and what it found; gives 1 where anything is wrong. Raises KsqlError of a bad configuration."""
    from ksqlpy.config import Config
    from ksqlpy.runtime.doctor import examine

    values = Config.from_file(options.config) if options.config else {}
    config = Config.of({**values, **Config.from_environment(), **dict(options.define)})
    failed = False
    for finding in examine(config):
        failed |= bool(finding.problems)
        print(f"{'fail' if finding.problems else 'ok':5} {finding.what}", flush=True)
        for problem in finding.problems:
            print("      " + problem.render().replace("\n", "\n      "), flush=True)
    return 1 if failed else 0
