"""The reader processes of a server: started, watched, ended. They answer lookups on the server's own port.

All processes take connections of one listening socket, so that clients need not know of it. What is no lookup a reader
hands to the server (:mod:`ksqlpy.server.forward`), over a Unix socket that only this user can reach.
"""

from __future__ import annotations

import contextlib
import json
import logging
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from ksqlpy.config import Config
from ksqlpy.embedded.folders import removed, scratch_folder
from ksqlpy.logs import LEVELS

__all__ = ["Readers"]

_log = logging.getLogger("ksqlpy.server")

PATIENCE = 5.0
"""Seconds that a reader gets to end."""
AGAIN = 1.0
"""Seconds after which a reader that has ended is started again."""


class Readers:
    """So many processes; a context manager that ends them. ``secret``: by which the server knows them."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.secret = secrets.token_urlsafe(32) if count else ""
        self._around = contextlib.ExitStack()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._folder = Path()
        self._told = threading.Lock()
        self._inputs: dict[object, IO[bytes]] = {}
        if count:
            self._around.callback(LEVELS.tell(self._tell))
            self._folder = self._around.enter_context(scratch_folder("ksqlpy-readers-"))

    @property
    def binds(self) -> list[str]:
        """Where the server must listen for them, as hypercorn's ``bind`` has it."""
        return [f"unix:{self._folder / 'server'}"] if self._count else []

    def start(self, config: Config, listeners: Sequence[tuple[socket.socket, bool]]) -> None:
        """Starts them; copies of more readers of before are removed.

        ``config``: with the address of the brokers; ``listeners``: each with whether it is of TLS.
        """
        data = config.get("ksqlpy.data.dir")
        folder = Path(data).expanduser() if data else self._folder
        for left in folder.glob("reader-*"):
            which = left.name.removeprefix("reader-")
            if which.isdecimal() and int(which) > self._count:
                removed(left)
        for number in range(1, self._count + 1):
            settings = {
                "number": number,
                "values": config.all_given,
                "listeners": [(listener.fileno(), tls) for listener, tls in listeners],
                "server": str(self._folder / "server"),
                "secret": self.secret,
                "folder": str(folder / f"reader-{number}"),
            }
            thread = threading.Thread(
                target=self._keep, args=(settings, [one.fileno() for one, _ in listeners]), name=f"reader {number}"
            )
            thread.start()
            self._threads.append(thread)

    def _keep(self, settings: dict[str, object], listeners: Sequence[int]) -> None:
        while not self._stopping.is_set():
            try:
                child = subprocess.Popen(
                    [sys.executable, "-m", "ksqlpy.server.reader"],
                    stdin=subprocess.PIPE,
                    pass_fds=tuple(listeners),
                    cwd="/",
                )
            except OSError as e:  # no memory, or no file descriptors, for now
                _log.warning("reader %s cannot be started: %s", settings["number"], e)
                self._stopping.wait(AGAIN)
                continue
            assert child.stdin is not None
            with self._told, contextlib.suppress(OSError):
                said = {**settings, "levels": dict(LEVELS.now)}
                child.stdin.write(json.dumps(said).encode() + b"\n")
                child.stdin.flush()
                self._inputs[settings["number"]] = child.stdin
            while child.poll() is None and not self._stopping.wait(0.1):
                pass
            with self._told, contextlib.suppress(OSError):
                self._inputs.pop(settings["number"], None)
                child.stdin.close()  # by which it ends
            try:
                status = child.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                child.kill()
                status = child.wait()
            if not self._stopping.is_set():
                _log.warning("reader %s has ended (status %s) and is started again", settings["number"], status)
                self._stopping.wait(AGAIN)

    def _tell(self, levels: Mapping[str, str]) -> None:
        """Has all readers log by these levels."""
        with self._told:
            for pipe in self._inputs.values():
                with contextlib.suppress(OSError):
                    pipe.write(json.dumps(dict(levels)).encode() + b"\n")
                    pipe.flush()

    def __enter__(self) -> Readers:
        return self

    def __exit__(self, *error: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        self._around.close()
