"""For whom a request is answered: the principal that the login has left in its scope."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from ksqlpy.access import Principal, asking

__all__ = ["ACCESS", "PRINCIPAL", "Asks", "asked_by"]

PRINCIPAL, ACCESS = "ksqlpy.principal", "ksqlpy.access"
"""Where the login leaves the principal in the scope, by itself or as a part of what it knows of the request."""


def asked_by(scope: Scope) -> Principal | None:
    """Who sends a request; None where there is no login."""
    access = scope.get(ACCESS)
    found: Principal | None = scope.get(PRINCIPAL) or (None if access is None else access.principal)
    return found


class Asks:
    """Tells all that is called for a request whose it is (:data:`ksqlpy.access.ASKS`): no endpoint hands it on."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Calls the application; an ASGI application."""
        with asking(asked_by(scope)):
            await self.app(scope, receive, send)
