"""The broker: the same port and the same folder at every start, so that it can be killed and come back."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from tests.harness.server import free_port

__all__ = ["Broker"]


class Broker:
    """A Kafka broker that outlives its process; ended by :meth:`end` or with this process."""

    def __init__(self, folder: Path, host: str = "127.0.0.1") -> None:
        self._host = host
        self._port = free_port()
        self._folder = folder
        self._kafka = self._made()

    def _made(self) -> EmbeddedKafka:
        return EmbeddedKafka(host=self._host, port=self._port, folder=self._folder)

    @property
    def bootstrap(self) -> str:
        """``host:port``, also while the broker is away."""
        return f"{self._host}:{self._port}"

    @property
    def connection(self) -> KafkaConnection:
        """How it is reached, also while it is away."""
        return KafkaConnection(self.bootstrap)

    @property
    def pid(self) -> int:
        """Process id of the broker. Raises RuntimeError unless started."""
        return self._kafka.pid

    def start(self) -> None:
        """Starts it and waits until it answers; raises what :meth:`EmbeddedKafka.start` raises."""
        self._kafka.start()

    def kill(self, away: float, others: Callable[[], None] | None = None) -> None:
        """Kills the broker with SIGKILL and starts it again ``away`` seconds later; ``others``: kills more at once."""
        os.kill(self.pid, signal.SIGKILL)
        if others is not None:
            others()
        self._kafka.stop()  # waits for the process and gives the folder free
        time.sleep(away)
        self._kafka = self._made()
        self._kafka.start()

    def stall(self, away: float) -> None:
        """Stops the broker with SIGSTOP, and lets it go on ``away`` seconds later."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            time.sleep(away)
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def end(self) -> None:
        """Ends it in order."""
        self._kafka.stop()
