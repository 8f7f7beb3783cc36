"""Where the server listens: addresses with their protocols, and the sockets of them."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import logging
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from ksqlpy.config import Config
from ksqlpy.errors import ConfigProblem, EnvironmentProblem, KsqlError
from ksqlpy.server.auth.login import is_configured
from ksqlpy.server.certificates import CERTIFICATE, Certificates

__all__ = ["BACKLOG", "Listeners", "Place", "listen", "places"]

LISTENERS = "listeners"

_log = logging.getLogger("ksqlpy.server")

BACKLOG = 4096
"""Connections that wait until they are accepted. A client beyond them hears nothing, and asks again in a second."""

ACCEPTS = 16
"""Connections that are accepted in a round of the event loop: libuv accepts one for each descriptor that listens. A
client behind a crowd would wait as many rounds as there are others."""


READERS = 5.0
"""Seconds in which the readers of a killed server close its port."""


@dataclass(frozen=True)
class Place:
    """An address to listen on, and whether by TLS."""

    host: str
    port: int
    tls: bool = False


def places(config: Config) -> Sequence[Place]:
    """Where a server with these properties listens; raises ConfigProblem ``listeners-twice``."""
    given = config.get(LISTENERS)
    if not given:
        return [Place(config.get("ksqlpy.host"), config.number("ksqlpy.port"), bool(config.get(CERTIFICATE)))]
    for name in ("ksqlpy.host", "ksqlpy.port"):
        if config.is_set(name):
            raise ConfigProblem(
                "listeners-twice", f"{LISTENERS} and {name} both say where to listen", hint="leave one of them out"
            )
    urls = [urlsplit(url) for url in given.split(",")]
    return [Place(url.hostname or "", url.port or 0, url.scheme == "https") for url in urls]


def listen(host: str, port: int, *, insecure: bool = False) -> socket.socket:
    """A socket that listens; port 0 takes a free one.

    ``insecure``: whether it may be an address that other machines reach. Raises ConfigProblem ``address-insecure``,
    EnvironmentProblem ``port-in-use`` and ``address-unusable``.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        if not insecure and not ipaddress.ip_address(address[0]).is_loopback:
            raise _insecure(host)
        listener = socket.socket(family, kind, protocol)
    except OSError as e:
        raise _unusable(host, port, e) from e
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
        listener.listen(BACKLOG)  # at once: two sockets may be bound to one port as long as neither listens
    except OSError as e:
        listener.close()
        if e.errno == errno.EADDRINUSE:
            raise EnvironmentProblem(
                "port-in-use",
                f"port {port} on {host} is in use by another program",
                hint="take another one with --port N (0: any free one), or stop the other program",
            ) from e
        raise _unusable(host, port, e) from e
    return listener


def _listen_soon(place: Place, insecure: bool, patience: float) -> socket.socket:
    """As :func:`listen`; a port that is in use is tried again for so many seconds."""
    end = time.monotonic() + patience
    while True:
        try:
            return listen(place.host, place.port, insecure=insecure)
        except EnvironmentProblem as e:
            if e.code != "port-in-use" or time.monotonic() > end:
                raise
        time.sleep(0.1)


class Listeners:
    """Sockets that listen, and the certificates of those with TLS; a context manager that closes them."""

    def __init__(self, sockets: Sequence[tuple[socket.socket, bool]], certificates: Certificates | None = None) -> None:
        """``sockets``: each with whether TLS is spoken there."""
        self.sockets = sockets
        self.certificates = certificates

    @classmethod
    def of(cls, config: Config) -> Listeners:
        """By the properties of a server; raises what :func:`places`, :func:`listen` and Certificates raise."""
        found = places(config)
        certificates = Certificates.of(config) if any(p.tls for p in found) else None
        patience = READERS if config.number("ksqlpy.readers") else 0.0
        open_to_all, asks = config.get("ksqlpy.insecure") == "true", is_configured(config)
        with contextlib.ExitStack() as opened:
            sockets = []
            for place in found:
                gated = place.tls and certificates is not None and certificates.asks_clients
                insecure = open_to_all or asks or gated
                listener = opened.enter_context(_listen_soon(place, insecure, patience))
                sockets.append((listener, place.tls))
                if asks and not place.tls and not ipaddress.ip_address(listener.getsockname()[0]).is_loopback:
                    _log.warning("logins to %s cross the network in the clear: use https", _url(listener, False))
            opened.pop_all()
        return cls(sockets, certificates)

    @property
    def urls(self) -> list[str]:
        """Where they listen."""
        return [_url(listener, tls) for listener, tls in self.sockets]

    def binds(self, *, tls: bool) -> list[str]:
        """Those with TLS or without, as hypercorn has them: further descriptors of each, since it closes its own."""
        sockets = [listener for listener, secure in self.sockets if secure is tls]
        return [f"fd://{os.dup(listener.fileno())}" for listener in sockets for _ in range(ACCEPTS)]

    def close(self) -> None:
        """Closes them."""
        for listener, _ in self.sockets:
            listener.close()

    def __enter__(self) -> Listeners:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _url(listener: socket.socket, tls: bool) -> str:
    host, port = listener.getsockname()[:2]
    return f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def _insecure(host: str) -> KsqlError:
    return ConfigProblem(
        "address-insecure",
        f"other machines can reach {host or 'all addresses'}, and the server asks nobody for a login:"
        " whoever reaches it could run statements",
        hint="set up a login, as with ksqlpy.auth.users.file, or listen on 127.0.0.1; --insecure listens all the same",
    )


def _unusable(host: str, port: int, error: OSError) -> KsqlError:
    return EnvironmentProblem(
        "address-unusable",
        f"the server cannot listen on {host}, port {port}: {error.strerror or error}",
        hint="name an address of this machine with --host and a port above 1023 with --port",
    )
