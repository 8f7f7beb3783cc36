"""Bodies of requests: read whole ahead of any answer, up to a size.

Whole, because a connection with an answer before the request's end cannot be used again.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ksqlpy.errors import ConfigProblem
from ksqlpy.server.errors import error_response

__all__ = ["MAX_BODY", "Bodies", "disconnected", "drain"]

MAX_BODY = 16 * 2**20
"""Bytes of a body. Statements must fit into a record of the command log, 1 MiB with the usual brokers."""


async def drain(receive: Receive) -> None:
    """Takes what comes of a body, and keeps nothing."""
    while (await receive()).get("more_body"):
        pass


async def disconnected(receive: Receive) -> None:
    """Waits until the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


class Bodies:
    """Hands requests on with their bodies read; answers 413 to those with too large a one."""

    def __init__(self, app: ASGIApp, limit: int = MAX_BODY) -> None:
        self.app = app
        self.limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reads the body, then calls the application; an ASGI application."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        parts: list[bytes] = []
        size = 0
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return  # the client has left
            more = message.get("more_body", False)
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self.limit:
                if more:
                    await drain(receive)
                await error_response(_too_large(self.limit))(scope, receive, send)
                return
        whole: Message | None = {"type": "http.request", "body": b"".join(parts), "more_body": False}

        async def read() -> Message:
            nonlocal whole
            message, whole = whole, None
            return message or await receive()

        await self.app(scope, read, send)


def _too_large(limit: int) -> ConfigProblem:
    return ConfigProblem(
        "request-too-large",
        f"the request body has more than {limit // 2**20} MiB",
        hint="send the statements in several requests",
        error_code=41300,
    )
