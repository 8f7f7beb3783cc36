"""Who may talk to the server at all: which name it goes by, and the pages of which origins.

There is no login, so whoever can send a request can run statements; a browser on the same machine sends them for any
page. What a page cannot forge are the headers Host, Origin and Sec-Fetch-Site. Clients that are no browsers send a
Host only. Sources of the rules: RFC 9110, section 15.5.20 (421); Fetch standard (Origin); Fetch Metadata.
"""

from __future__ import annotations

import ipaddress
import re
import socket

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ksqlpy.config import Config
from ksqlpy.errors import KsqlError, shown
from ksqlpy.runtime.audited import note
from ksqlpy.server.bodies import drain
from ksqlpy.server.errors import error_response
from ksqlpy.server.listeners import places

__all__ = ["HOSTS", "ORIGINS", "Gate", "split"]

HOSTS = "ksqlpy.allowed.hosts"
ORIGINS = "access.control.allow.origin"

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?\Z")


def split(names: str) -> tuple[str, ...]:
    """The parts of a property that holds names with commas between them."""
    return tuple(filter(None, names.split(",")))


class Gate:
    """Refuses requests for a host that the server is not (421), and of pages that may not use it (403).

    Starlette's TrustedHostMiddleware is not used because it answers 400 and does not know the address that the
    connection came to. Paths, methods and protocols make no difference.
    """

    def __init__(self, app: ASGIApp, config: Config) -> None:
        self.app = app
        self._hosts = {"localhost", socket.gethostname().lower()}
        self._hosts |= {place.host.lower().strip("[]") for place in places(config)}
        self._hosts |= set(split(config.get(HOSTS)))
        self._origins = set(split(config.get(ORIGINS)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets the request through, or answers it; an ASGI application."""
        problem = None if scope["type"] == "lifespan" else self._problem(scope)
        if problem is None:
            await self.app(scope, receive, send)
            return
        note("REQUEST", error=problem)
        if scope["type"] == "websocket":
            await send({"type": "websocket.close"})  # ahead of an acceptance: the client gets 403
        else:
            await drain(receive)
            await error_response(problem)(scope, receive, send)

    def _problem(self, scope: Scope) -> KsqlError | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host") or [""]
        local = (scope.get("server") or ("",))[0]
        for host in hosts:
            if not self._is_own(host, local):
                return KsqlError(
                    "unknown-host",
                    f"this server does not go by the name {shown(host)} (header Host)",
                    hint=f"the server property {HOSTS} lists more names",
                    error_code=42100,
                )
        own = f"{scope.get('scheme', 'http').replace('ws', 'http', 1)}://{hosts[0]}".lower()
        origins = headers.getlist("origin")
        foreign = next((f"of {shown(o)}" for o in origins if o != own and o not in self._origins), None)
        if not origins and headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            foreign = "of other origins"
        if foreign is None:
            return None
        return KsqlError(
            "foreign-origin",
            f"pages {foreign} may not use this server",
            hint=f"the server property {ORIGINS} lists the origins that may",
            error_code=40300,
        )

    def _is_own(self, host: str, local: str) -> bool:
        """Whether a value of Host names this server: with any port, since ports may be forwarded."""
        matched = _HOST.match(host)
        if matched is None:
            return False
        name = matched[1].strip("[]").lower().removesuffix(".")
        if name in self._hosts:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        # The address that the client connected to: no name that somebody else could point to this machine.
        return address.is_loopback or name == local.removeprefix("::ffff:")
