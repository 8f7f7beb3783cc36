"""Gives each request its id: the client's, or a new one; it stands in the answer, in log lines and in the audit log."""

from __future__ import annotations

from collections.abc import Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ksqlpy.audit import AUDIT, Audit
from ksqlpy.request import REQUEST, Request, new_id, sane_id
from ksqlpy.server.asks import address_of

__all__ = ["HEADER", "Requests"]

HEADER = "X-Request-Id"

_NAME = HEADER.lower().encode()

_REFUSED = "websocket.http.response.start"
_ANSWERS = ("http.response.start", "websocket.accept", _REFUSED)


class Requests:
    """Stands before the gate, so that refusals have an id, too."""

    def __init__(self, app: ASGIApp, endpoints: Collection[str] = (), audit: Audit | None = None) -> None:
        """``endpoints``: the paths that may be told."""
        self.app = app
        self._endpoints = frozenset(endpoints)
        self._audit = audit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Calls the application; an ASGI application."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        given = [value for name, value in scope["headers"] if name == _NAME]
        own = sane_id(given[0].decode("latin-1")) if len(given) == 1 else None
        endpoint = scope["path"] if scope["path"] in self._endpoints else ""
        request = Request(own or new_id(), address_of(scope), endpoint)
        header = (_NAME, request.id.encode())

        refusable = "websocket.http.response" in scope.get("extensions", {})

        async def marked(message: Message) -> None:
            nonlocal refusable
            if message["type"] == "websocket.close" and refusable:  # ahead of an acceptance
                await send({"type": _REFUSED, "status": 403, "headers": [header]})
                await send({"type": "websocket.http.response.body", "body": b""})
                return
            if message["type"] in _ANSWERS:
                refusable = False
                rest = [h for h in message.get("headers", ()) if h[0] != _NAME]
                message = {**message, "headers": [*rest, header]}
            await send(message)

        token, audit = REQUEST.set(request), AUDIT.set(self._audit)
        try:
            await self.app(scope, receive, marked)
        finally:
            REQUEST.reset(token)
            AUDIT.reset(audit)
