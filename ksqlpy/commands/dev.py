"""``ksqlpy dev``: broker, server and shell in one command, and all of them end with it."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from ksqlpy.commands.datafolder import add_data, with_data
from ksqlpy.commands.logs import without_traces_of_py4j
from ksqlpy.commands.options import add_define, add_insecure, connection
from ksqlpy.commands.values import rate

if TYPE_CHECKING:
    from ksqlpy.client import Connection
    from ksqlpy.config import Config
    from ksqlpy.connection import KafkaConnection
    from ksqlpy.demo.sample import Taxi
    from ksqlpy.embedded.cache import StatusLine
    from ksqlpy.embedded.registry import EmbeddedRegistry
    from ksqlpy.errors import KsqlError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy dev``."""
    add_data(parser)
    parser.add_argument("--port", metavar="N", help="port of the server (default 8088; 0: any free one)")
    parser.add_argument("--kafka-port", metavar="N", help="port of the broker (default: as before, at first any)")
    parser.add_argument(
        "--schema-registry", action="store_true", help="start a schema registry, too: AVRO, JSON_SR and PROTOBUF work"
    )
    parser.add_argument("--sample", choices=("taxi",), help="make the streams and queries of a sample, and fill them")
    parser.add_argument(
        "--rate", metavar="N[/s]", type=rate, help="records of the sample a second (default: most at once, then 5)"
    )
    parser.add_argument("--no-shell", action="store_true", help="serve until Ctrl-C or SIGTERM")
    parser.add_argument(
        "--output", choices=("table", "json", "csv"), default=argparse.SUPPRESS, help="form of results in the shell"
    )
    add_insecure(parser)
    add_define(parser)


def run(options: argparse.Namespace) -> int:
    """Starts everything, then the shell; without one, serves. Raises KsqlError; nothing is left running then."""
    if options.rate is not None and options.sample is None:
        print("ksqlpy dev: --rate is for the records of a sample: name one with --sample", file=sys.stderr)
        return 2
    from ksqlpy.embedded.process import ended_in_order

    with ended_in_order():
        return _course(options)


def _course(options: argparse.Namespace) -> int:
    from ksqlpy.embedded.cache import StatusLine
    from ksqlpy.spark.masters import on_one_machine

    tell = StatusLine()
    with contextlib.ExitStack() as around:
        config = _config(options)
        if on_one_machine(config.get("ksqlpy.spark.master")):
            os.umask(0o077)  # as of a server
        if options.schema_registry:
            registry = around.enter_context(_registry(config.get("ksqlpy.data.dir"), tell))
            config = _config(options, {"ksql.schema.registry.url": registry.url})
        return _serve_all(options, config, tell)


def _registry(folder: str, tell: StatusLine) -> EmbeddedRegistry:
    from ksqlpy.embedded.registry import EmbeddedRegistry

    tell("starting the schema registry")
    return EmbeddedRegistry(folder=Path(folder).expanduser() / "registry" if folder else None, progress=tell)


def _serve_all(options: argparse.Namespace, config: Config, tell: StatusLine) -> int:
    from ksqlpy import logs
    from ksqlpy.client import Client, Waiting
    from ksqlpy.embedded.folders import kept
    from ksqlpy.embedded.process import start_whole
    from ksqlpy.runtime import Engine
    from ksqlpy.server.backend import Backend, State
    from ksqlpy.server.listeners import Listeners
    from ksqlpy.server.run import ServerThread

    logs.begin(config)
    without_traces_of_py4j()
    engine = Engine(config, tell)
    backend = Backend(engine, State.STARTING)
    # The port is taken first: if it is in use nothing need be started.
    server = ServerThread(backend, listeners=Listeners.of(config))
    with contextlib.ExitStack() as stack:
        stack.callback(tell, "")
        start_whole(engine.start, engine.stop, tell)
        stack.callback(engine.stop)
        stack.callback(tell, "stopping")
        stack.enter_context(server)
        taxi = stack.enter_context(_taxi(engine.connection, options.rate, tell))
        # Who is on the page has it made with his own rights.
        backend.samples = {"taxi": lambda: taxi.make(engine.execute)}
        backend.state = State.READY
        print(f"Kafka   {engine.bootstrap}")
        if options.schema_registry:
            print(f"schemas {config.get('ksql.schema.registry.url')}")
        print(f"server  {server.url}")
        print(f"page    {server.url}/ui/")
        print(f"data    {kept(config.get('ksqlpy.data.dir'))}", flush=True)
        if sys.stdin.isatty() and not options.no_shell:
            _log_beside_the_shell(config, engine.folder)
        there = replace(connection(options), url=server.url, waiting=Waiting())
        if options.sample is not None:
            with Client(there) as client:
                print(taxi.make(client.statements))
            print(f"queries begin at the {config.get('auto.offset.reset')} record (auto.offset.reset)", flush=True)
        return _talk(there, options, engine.fatal)


def _log_beside_the_shell(config: Config, folder: Path) -> None:
    """Keeps the server's log, with its tracebacks, off the screen, which is the shell's."""
    from ksqlpy import logs

    file = folder / "server.log"
    logs.begin(config, file)
    print(f"log     {file}", flush=True)


def _config(options: argparse.Namespace, more: Mapping[str, str] = MappingProxyType({})) -> Config:
    """The properties; ``more``: those of what is started beside the server."""
    from ksqlpy.config import Config

    flags = {
        "ksqlpy.port": options.port,
        "ksqlpy.insecure": options.exposed,
        "ksqlpy.kafka.port": options.kafka_port,
    }
    # A sample is there to be looked at: queries see it from its first record.
    sample = {"auto.offset.reset": "earliest"} if options.sample is not None else {}
    named = {name: value for name, value in flags.items() if value is not None}
    given = {**sample, **Config.from_environment(), **more, **dict(options.define), **named}
    # Who reaches this machine's own server only is the one who started it.
    own = {"ksqlpy.functions.python.enabled": "true"} if _own(Config.of(given)) else {}
    return with_data(options, Config.of({**own, **given}))


def _own(config: Config) -> bool:
    """Whether only this machine reaches the server."""
    return config.get("ksqlpy.host") in ("localhost", "127.0.0.1", "::1") and not config.is_set("listeners")


def _taxi(connection: KafkaConnection, rate: float | None, tell: StatusLine) -> Taxi:
    """The taxi rides for a server that runs; ``rate``: of all of them."""
    from ksqlpy.demo.sample import MOVING, Pace, Taxi

    return Taxi(connection, tell, MOVING if rate is None else Pace(0, rate))


def _talk(server: str | Connection, options: argparse.Namespace, fatal: Callable[[], KsqlError | None]) -> int:
    """The shell, or the statements that are piped in; without either it serves until a signal comes."""
    if options.no_shell:
        return _serve(fatal)
    if sys.stdin.isatty():
        options.server = server if isinstance(server, str) else server.url
        options.define = []  # they are the server's
        from ksqlpy.commands import shell

        return shell.run(options)
    text = sys.stdin.read()
    if not text.strip():
        return _serve(fatal)
    from ksqlpy.shell.commands import run_text

    return run_text(text, server, options.output, {}, complete=True)


def _serve(fatal: Callable[[], KsqlError | None]) -> int:
    print("Ctrl-C ends them", flush=True)
    with contextlib.suppress(KeyboardInterrupt, SystemExit):  # the usual end of what serves
        while (problem := fatal()) is None:
            time.sleep(0.5)
        raise problem
    return 0
