"""A real engine on a broker, and its server in a thread."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from ksqlpy.server.listeners import Listeners
from ksqlpy.server.run import ServerThread

__all__ = ["real_server"]


@contextlib.contextmanager
def real_server(
    broker: EmbeddedKafka, folder: Path, service: str, more: Mapping[str, str] | None = None
) -> Iterator[ServerThread]:
    """The server of a service, which ends with the block; ``folder``: for its data, ``more``: further properties.

    Needs the fixture ``spark``. The engine is ``backend.engine`` of what is given.
    """
    own = {
        "bootstrap.servers": broker.bootstrap,
        "ksql.service.id": service,
        "ksqlpy.data.dir": str(folder),
        "ksqlpy.warm.up": "false",
        "listeners": "http://127.0.0.1:0",
    }
    config = Config.of({**own, **(more or {})})
    engine = Engine(config)
    engine.start()
    try:
        with ServerThread(engine, listeners=Listeners.of(config)) as running:
            yield running
    finally:
        engine.stop()
