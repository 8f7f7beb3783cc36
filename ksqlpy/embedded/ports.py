"""Ports of what is started with a folder that stays: the same one at each start, since clients know it."""

from __future__ import annotations

import contextlib
import logging
import random
import socket
from pathlib import Path

__all__ = ["is_free", "keep_port", "usual_port"]

log = logging.getLogger(__name__)

_FILE = "port"
_LASTING = range(20_000, 32_000)
"""Ports that systems give to no outgoing connection, so that they are free at the next start, too."""


def is_free(host: str, port: int) -> bool:
    """Whether a server may listen there."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind((host, port))
        except OSError:
            return False
    return True


def usual_port(folder: Path, host: str) -> int | None:
    """The port of the last start with this folder, if it is free, else another one; None if none is found."""
    port = 0
    with contextlib.suppress(OSError, ValueError):
        port = int((folder / _FILE).read_text(encoding="utf-8"))
    if 0 < port < 65536:
        if is_free(host, port):
            return port
        log.warning("port %s, of the last start with %s, is in use: another one is taken", port, folder)
    return next((port for port in random.sample(_LASTING, 100) if is_free(host, port)), None)


def keep_port(folder: Path, port: int) -> None:
    """Takes it down for the next start."""
    (folder / _FILE).write_text(f"{port}\n", encoding="utf-8")
