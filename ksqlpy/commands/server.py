"""``ksqlpy server``: runs a server until it is told to stop."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ksqlpy.commands.datafolder import add_data, with_data
from ksqlpy.commands.logs import without_traces_of_py4j
from ksqlpy.commands.options import add_define, add_insecure

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy server``."""
    parser.add_argument("--port", metavar="N", help="port to listen on (default 8088; 0: any free one)")
    parser.add_argument("--host", metavar="H", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--bootstrap-servers", metavar="B", help="Kafka to use (default: one is started)")
    add_data(parser)
    parser.add_argument("--readers", metavar="N", help="processes that answer lookups beside the server (default 0)")
    parser.add_argument(
        "--standby",
        action="store_const",
        const="true",
        help="wait while another server runs the service",
    )
    parser.add_argument("--config", metavar="FILE", type=Path, help="file of key=value lines")
    add_insecure(parser)
    add_define(parser)


def run(options: argparse.Namespace) -> int:
    """Serves; later sources of properties win: file, environment, -D, options. Raises KsqlError."""
    from ksqlpy import logs
    from ksqlpy.config import Config
    from ksqlpy.embedded.cache import StatusLine
    from ksqlpy.spark.masters import on_one_machine

    values = Config.from_file(options.config) if options.config else {}
    given = {**values, **Config.from_environment(), **dict(options.define), **_flags(options)}
    config = with_data(options, Config.of(given))
    if on_one_machine(config.get("ksqlpy.spark.master")):
        os.umask(0o077)  # what it writes is for nobody else; executors elsewhere may run as another user
    logs.begin(config)
    without_traces_of_py4j()
    from ksqlpy.server.run import serve

    serve(config, StatusLine())
    return 0


def _flags(options: argparse.Namespace) -> dict[str, str]:
    flags = {
        "ksqlpy.host": options.host,
        "ksqlpy.port": options.port,
        "ksqlpy.insecure": options.exposed,
        "bootstrap.servers": options.bootstrap_servers,
        "ksqlpy.readers": options.readers,
        "ksqlpy.standby": options.standby,
    }
    return {name: value for name, value in flags.items() if value is not None}
