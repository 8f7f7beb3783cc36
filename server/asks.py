"""For whom a request is answered: the principal that the login has left in its scope."""

from __future__ import annotations

from dataclasses import replace

from starlette.types import ASGIApp, Receive, Scope, Send

from ksqlpy.access import Principal, asking
from ksqlpy.request import REQUEST

__all__ = ["ACCESS", "PRINCIPAL", "Asks", "address_of", "asked_by"]

PRINCIPAL, ACCESS = "ksqlpy.principal", "ksqlpy.access"
"""Where the login leaves the principal in the scope, by itself or as a part of what it knows of the request."""


def asked_by(scope: Scope) -> Principal | None:
    """Who sends a request; None where there is no login."""
    access = scope.get(ACCESS)
    found: Principal | None = scope.get(PRINCIPAL) or (None if access is None else access.principal)
    return found


def address_of(scope: Scope) -> str:
    """The address that a request comes from; empty where there is none."""
    client = scope.get("client")
    return str(client[0]) if client else ""


class Asks:
    """Tells all that is called for a request whose it is (:data:`ksqlpy.access.ASKS`): no endpoint hands it on.

    And where it comes from: of one that a reader hands on the login has learned it from the reader.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Calls the application; an ASGI application."""
        request, address = REQUEST.get(), address_of(scope)
        if request is not None and request.address != address:
            REQUEST.set(replace(request, address=address))
        with asking(asked_by(scope)):
            await self.app(scope, receive, send)
