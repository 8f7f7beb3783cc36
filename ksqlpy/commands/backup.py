"""``ksqlpy backup``: keeps what a service cannot make again, also while its server runs."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ksqlpy.commands.options import add_define
from ksqlpy.commands.values import count

if TYPE_CHECKING:
    from ksqlpy.config import Config

__all__ = ["add_arguments", "add_service", "checkpoint_folder", "configured", "login_files", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy backup``."""
    parser.add_argument("target", metavar="TARGET", help="folder of backups, or a URI of one that Hadoop knows")
    parser.add_argument("--keep", metavar="N", type=count, help="remove all but the last N backups (default: none)")
    parser.add_argument("--logins", action="store_true", help="with the files of users and of tokens")
    add_service(parser)


def add_service(parser: argparse.ArgumentParser) -> None:
    """Which service: the options by which its server is started."""
    parser.add_argument("--config", metavar="FILE", type=Path, help="the server's file of key=value lines")
    parser.add_argument("--bootstrap-servers", metavar="B", help="its Kafka")
    parser.add_argument("--data-dir", metavar="D", help="its data folder (default: as ksqlpy server)")
    parser.set_defaults(temporary=False)
    add_define(parser)


def configured(options: argparse.Namespace) -> Config:
    """The properties of the server. Raises KsqlError."""
    from ksqlpy.commands.datafolder import with_data
    from ksqlpy.commands.options import kafka_settings
    from ksqlpy.config import Config

    return with_data(options, Config.of({**kafka_settings(options), **dict(options.define)}))


def checkpoint_folder(config: Config) -> tuple[str, str]:
    """The folder of checkpoints, a path or a URI, and the name in it of that of the service."""
    given = config.get("ksqlpy.checkpoint.dir")
    folder = given or str(Path(config.get("ksqlpy.data.dir")).expanduser().absolute() / "checkpoints")
    return folder.rstrip("/"), config.get("ksql.service.id")


def login_files(config: Config) -> dict[str, Path]:
    """The files of logins that the server has, by their names in a backup."""
    from ksqlpy.backup import LOGINS

    named = {name: config.get(f"ksqlpy.auth.{name}.file") for name in LOGINS}
    return {name: Path(file) for name, file in named.items() if file}


def run(options: argparse.Namespace) -> int:
    """Makes a backup. Raises KsqlError."""
    from ksqlpy.backup import LocalPlace, Places, Service, Store, is_uri, make_backup
    from ksqlpy.embedded.cache import StatusLine
    from ksqlpy.embedded.folders import folder_locked, private

    config, tell = configured(options), StatusLine()
    with private(), Places(config) as places, contextlib.ExitStack() as stack:
        service = Service(config)
        if not is_uri(options.target):
            folder = Path(options.target).expanduser().absolute()
            stack.enter_context(folder_locked(folder, "folder of backups", "another backup"))
            target = Store(LocalPlace(folder))
        else:
            target = Store(places.at(options.target))
        made = make_backup(
            service,
            places.at("/".join(checkpoint_folder(config))),
            target,
            keep=options.keep,
            logins=login_files(config) if options.logins else {},
            progress=tell,
        )
    tell("")
    manifest = made.manifest
    for warning in manifest.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    queries, files = len(manifest.queries), len(manifest.files)
    print(f"backup {manifest.name} of {manifest.service}: {queries} queries, {files:,} files, {_size(manifest.size)}")
    print(f"{_size(made.written)} written to {target.place.name}")
    for name in made.removed:
        print(f"backup {name} removed")
    return 0


def _size(count: int) -> str:
    return f"{count:,} bytes" if count < 10_000 else f"{count / 1_000_000:,.1f} MB"
