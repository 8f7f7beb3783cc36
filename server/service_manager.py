"""What systemd is told of a server that a unit of Type=notify has started: when it is ready, and what it does."""

from __future__ import annotations

import contextlib
import os
import socket

__all__ = ["ServiceManager"]

_SOCKET = "NOTIFY_SOCKET"


class ServiceManager:
    """The socket that systemd has named; nothing is sent where it has named none."""

    def __init__(self) -> None:
        """Takes the name out of the environment: processes that the server starts are not to use it."""
        name = os.environ.pop(_SOCKET, "")
        self._address = f"\0{name[1:]}" if name.startswith("@") else name

    def status(self, text: str) -> None:
        """One line for ``systemctl status``."""
        self._tell(f"STATUS={text}")

    def ready(self, text: str) -> None:
        """The server takes statements; ``text`` as in :meth:`status`."""
        self._tell(f"READY=1\nSTATUS={text}")

    def stopping(self) -> None:
        """The server ends by itself or since it was told to."""
        self._tell("STOPPING=1\nSTATUS=stopping")

    def _tell(self, message: str) -> None:
        if not self._address:
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
            to.setblocking(False)
            to.sendto(message.encode(), self._address)
