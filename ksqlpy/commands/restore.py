"""``ksqlpy restore``: brings back what ``ksqlpy backup`` has kept, before the server is started."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path

from ksqlpy.commands.backup import add_service, checkpoint_folder, configured, login_files
from ksqlpy.commands.options import form

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy restore``."""
    parser.add_argument("source", metavar="SOURCE", help="folder of backups, or a URI of one that Hadoop knows")
    parser.add_argument("--backup", metavar="NAME", help="which one (default: the last one)")
    parser.add_argument("--list", action="store_true", help="list the backups, and restore none")
    parser.add_argument("--dry-run", action="store_true", help="check the backup and the service, and change nothing")
    parser.add_argument("--force", action="store_true", help="also where something is: checkpoints are moved aside")
    parser.add_argument("--logins", action="store_true", help="with the files of users and of tokens")
    parser.add_argument(
        "--output", choices=("table", "json", "csv"), default=argparse.SUPPRESS, help="form of the list"
    )
    add_service(parser)


def run(options: argparse.Namespace) -> int:
    """Restores a backup. Raises KsqlError."""
    from ksqlpy.backup import Places, Service, Store, choose, restore_backup
    from ksqlpy.embedded.cache import StatusLine
    from ksqlpy.embedded.folders import folder_locked, private
    from ksqlpy.spark.masters import on_one_machine

    config, tell = configured(options), StatusLine()
    with private(), Places(config) as places, contextlib.ExitStack() as stack:
        source = Store(places.at(options.source))
        if options.list:
            _list(form(options, "restore --list", "table", "json", "csv"), source)
            return 0
        manifest = choose(source, options.backup)
        newer = [n for n in source.incomplete() if n > manifest.name]
        service = Service(config)
        data = Path(config.get("ksqlpy.data.dir")).expanduser().absolute()
        stack.enter_context(folder_locked(data, "data folder"))
        folder, name = checkpoint_folder(config)
        told = restore_backup(
            service,
            source,
            manifest,
            lambda: (places.at(folder, shared=not on_one_machine(config.get("ksqlpy.spark.master"))), name),
            data,
            force=options.force,
            dry=options.dry_run,
            logins=login_files(config) if options.logins else {},
            progress=tell,
        )
    tell("")
    for warning in [
        *(f"backup {n} was not made to its end, and is not used" for n in newer),
        *manifest.warnings,
        *(f"query {q} was made behind the backup: drop it and create it again" for q in told.lacking),
    ]:
        print(f"warning: {warning}", file=sys.stderr)
    verb = "would be" if options.dry_run else "is"
    print(f"backup {manifest.name} of {manifest.made} {verb} restored: {len(manifest.queries)} queries")
    print(f"the command log {service.log.topic} {_LOG[told.log.name].format(verb=verb, later=told.later)}")
    if told.aside is not None:
        print(f"what was there {verb} moved to {told.aside}")
    return 0


_LOG = {
    "MISSING": "was lost, and {verb} made again",
    "BEGINNING": "had its beginning, and {verb} completed",
    "WHOLE": "stands as it was",
    "LATER": "stands, with {later} entries of after the backup",
    "OTHER": "had other entries, and {verb} made again",
}


def _list(output: str, source: object) -> None:
    from ksqlpy.backup import Store, list_backups
    from ksqlpy.shell.output import Printer

    assert isinstance(source, Store)
    found = list_backups(source)
    if output == "json":
        for row in found:
            Printer("json").data(row)
        return
    names = ("Name", "Made", "Service", "Queries", "Commands", "Files", "Bytes", "Problem")
    rows = [tuple("" if v is None else v for v in row.values()) for row in found]
    Printer(output).table(names, rows, "no backups")
