"""A reader process: lookups on the server's port, everything else handed to the server. It ends with its input."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import uvloop
from starlette.applications import Starlette
from starlette.routing import Mount

from ksqlpy import logs
from ksqlpy.audit import Audit
from ksqlpy.config import Config
from ksqlpy.errors import KsqlError
from ksqlpy.logs import LEVELS
from ksqlpy.runtime.reader import Reader
from ksqlpy.server import connections
from ksqlpy.server.app import guarded
from ksqlpy.server.certificates import Certificates
from ksqlpy.server.forward import Forward
from ksqlpy.server.listeners import Listeners
from ksqlpy.server.run import hypercorn
from ksqlpy.tracing import sending

__all__ = ["main"]


def main() -> int:
    """Serves until the standard input ends; its first line says how."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which a terminal sends to all; the server ends its readers
    settings: dict[str, Any] = json.loads(sys.stdin.readline())
    config = Config.of(settings["values"])
    logs.begin(config)
    LEVELS.set(settings["levels"])
    reader = Reader(config, Path(settings["folder"]))
    connections.limit(reader.config.number("ksqlpy.connections.max"))
    reader.start()
    try:
        with sending(reader.config):
            uvloop.run(_serve(reader, settings))
    finally:
        reader.stop()
    return 0


async def _serve(reader: Reader, settings: dict[str, Any]) -> None:
    loop, end = asyncio.get_running_loop(), asyncio.Event()

    def watch() -> None:
        for line in sys.stdin:  # each has the levels of loggers as they are from now on
            LEVELS.set(json.loads(line))
        loop.call_soon_threadsafe(end.set)

    threading.Thread(target=watch, name="input", daemon=True).start()
    audit = Audit.of(lambda: reader.config, f"reader-{settings['number']}")
    app = guarded(
        Starlette(routes=[Mount("/", Forward(settings["server"], settings["secret"]))]),
        reader.config,
        reader.look_up,
        _problem,
        f"pull_reader{settings['number']}_",
        audit=audit,
    )
    sockets = [(socket.socket(fileno=number), tls) for number, tls in settings["listeners"]]
    certificates = Certificates.of(reader.config) if any(tls for _, tls in sockets) else None
    with Listeners(sockets, certificates) as listeners:
        await hypercorn(app, listeners, end.wait)
    if audit is not None:
        audit.close()


def _problem() -> KsqlError | None:
    return None


if __name__ == "__main__":
    sys.exit(main())
