"""``ksqlpy migrate``: numbered files of statements, each run once on a server."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ksqlpy.commands.options import connection, form
from ksqlpy.commands.variables import add_variables, variables_of

if TYPE_CHECKING:
    from ksqlpy.client import Client
    from ksqlpy.project.metadata import Event, Metadata
    from ksqlpy.project.migrations import Migration, Project

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy migrate`` and its commands."""
    parser.add_argument(
        "-c",
        "--config-file",
        metavar="FILE",
        type=Path,
        default=Path("ksql-migrations.properties"),
        help="the project (default ksql-migrations.properties)",
    )
    commands = parser.add_subparsers(dest="migrate", metavar="COMMAND", required=True)

    def command(name: str, help: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=help, description=f"{help[:1].upper()}{help[1:]}.", allow_abbrev=False)

    new = command("new-project", "make a folder for migrations")
    new.add_argument("folder", type=Path, metavar="DIR")
    new.add_argument("url", metavar="URL", help="of the server")
    command("initialize-metadata", "make the stream and the table that keep what was done")
    create = command("create", "make an empty file for the next version")
    create.add_argument("name", metavar="NAME")
    create.add_argument("-v", "--version", dest="number", type=int, metavar="N", help="another version than the next")
    apply = command("apply", "run files whose versions are due")
    which = apply.add_mutually_exclusive_group(required=True)
    which.add_argument("-a", "--all", action="store_true", help="all of them")
    which.add_argument("-n", "--next", action="store_true", help="the first of them")
    which.add_argument("-u", "--until", type=int, metavar="N", help="those up to a version")
    which.add_argument("-v", "--version", dest="number", type=int, metavar="N", help="that one")
    apply.add_argument("--dry-run", action="store_true", help="let the server check the statements, and do nothing")
    add_variables(apply)
    info = command("info", "list versions and what became of them")
    info.add_argument("--output", choices=("table", "json"), default=argparse.SUPPRESS)
    command("validate", "compare the files with what was applied")
    resolve = command("resolve", "say how a version ended whose apply was killed")
    resolve.add_argument("number", type=int, metavar="N")
    resolve.add_argument("state", choices=("migrated", "error"))
    command("destroy-metadata", "drop the stream and the table, with their topics")


def run(options: argparse.Namespace) -> int:
    """Does it. Raises KsqlError."""
    from ksqlpy.client import Client
    from ksqlpy.project import migrations
    from ksqlpy.project.metadata import Metadata

    if options.migrate == "new-project":
        migrations.new_project(options.folder, Client(options.url).url)
        print(f"made {options.folder / migrations.PROPERTIES_FILE} and {options.folder / 'migrations'}")
        return 0
    project = migrations.read_project(options.config_file)
    if options.migrate == "create":
        print(f"made {migrations.create(project, options.name, options.number)}")
        return 0
    with Client(replace(connection(options), url=project.url)) as client:
        project = migrations.read_project(options.config_file, client.info().get("ksqlServiceId"))
        return _on_server(options, project, client, Metadata(client, project))


def _on_server(options: argparse.Namespace, project: Project, client: Client, metadata: Metadata) -> int:
    from ksqlpy.project import migrate
    from ksqlpy.project.migrations import migrations_of
    from ksqlpy.shell.output import escaped

    if options.migrate == "initialize-metadata":
        metadata.initialize()
        print(f"made stream {project.stream} and table {project.table}")
    elif options.migrate == "destroy-metadata":
        metadata.destroy()
        print(f"dropped stream {project.stream} and table {project.table}, with their topics")
    elif options.migrate == "apply":
        wanted = migrate.Selection(options.next, options.until, options.number)
        count = migrate.apply_migrations(
            client,
            metadata,
            migrations_of(project),
            wanted,
            variables_of(options),
            lambda line: print(escaped(line, keep="\n"), flush=True),
            dry_run=options.dry_run,
        )
        print(f"{count} migration{'' if count == 1 else 's'} {'would be ' if options.dry_run else ''}applied")
    elif options.migrate == "validate":
        count = migrate.validate(migrations_of(project), metadata.read())
        print(f"{count} applied migration{'' if count == 1 else 's'}, all files as they were")
    elif options.migrate == "resolve":
        migrate.resolve(metadata, options.number, options.state.upper())
        print(f"version {options.number}: {options.state.upper()}")
    else:
        _info(form(options, "migrate info", "table", "json"), migrations_of(project), metadata.read())
    return 0


_HEADERS = ("Version", "Name", "State", "Previous Version", "Started On", "Completed On", "Error Reason")


def _info(output: str, migrations: Sequence[Migration], events: Mapping[str, Event]) -> None:
    """Prints a line a version, files that are not applied yet among them."""
    from ksqlpy.project.migrate import current_version
    from ksqlpy.shell.output import Printer, escaped

    names = {str(m.version): m.name for m in migrations}
    versions = sorted({*names, *(k for k in events if k.isdigit())}, key=int)
    rows = [_row(v, names.get(v), events.get(v)) for v in versions]
    if output == "json":
        for row in rows:
            Printer("json").data(dict(zip(_HEADERS, row, strict=True)))
        return
    current = current_version(events)
    print(f"Current version: {'none' if current is None else current}")
    shown = [_HEADERS, *(tuple(escaped(cell) for cell in row) for row in rows)]
    widths = [max(len(row[i]) for row in shown) for i in range(len(_HEADERS))]
    for row in shown:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _row(version: str, name: str | None, event: Event | None) -> tuple[str, ...]:
    if event is None:
        return (version, name or "", "PENDING", "N/A", "N/A", "N/A", "N/A")
    times = (_time(event.started_on), _time(event.completed_on))
    return (version, event.name, event.state, event.previous, *times, event.error_reason)


def _time(millis: str) -> str:
    from datetime import UTC, datetime

    if not millis.isdigit():
        return millis or "N/A"
    return datetime.fromtimestamp(int(millis) / 1000, UTC).isoformat(timespec="milliseconds")
