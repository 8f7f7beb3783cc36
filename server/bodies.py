"""Bodies of requests: read whole ahead of any answer, up to a size.

Whole, because a connection with an answer before the request's end cannot be used again.
"""

from __future__ import annotations

import asyncio
import contextlib

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ksqlpy.errors import ConfigProblem
from ksqlpy.server.errors import error_response

__all__ = ["MAX_BODY", "REST", "STREAMED", "TOO_SLOW", "Bodies", "disconnected", "drain"]

STREAMED = frozenset({"/inserts-stream"})
"""Endpoints that are answered while their bodies come, and read them themselves."""

MAX_BODY = 16 * 2**20
"""Bytes of a body. Statements must fit into a record of the command log, 1 MiB with the usual brokers."""


REST = 60.0
"""Seconds in which some of a body must come."""
WHOLE = 600.0
"""Seconds in which all of it must."""


async def drain(receive: Receive) -> None:
    """Takes what comes of a body in its time, and keeps nothing."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(WHOLE):
            while (await asyncio.wait_for(receive(), REST)).get("more_body"):
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
        if scope["type"] != "http" or scope["path"] in STREAMED or _has_none(scope):
            await self.app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(WHOLE):
                body = await self._body(receive)
        except TimeoutError:
            await error_response(TOO_SLOW)(scope, receive, send)
            return
        if body is None:
            return  # the client has left
        if len(body) > self.limit:
            await error_response(_too_large(self.limit))(scope, receive, send)
            return
        whole: Message | None = {"type": "http.request", "body": body, "more_body": False}

        async def read() -> Message:
            nonlocal whole
            message, whole = whole, None
            return message or await receive()

        await self.app(scope, read, send)

    async def _body(self, receive: Receive) -> bytes | None:
        """The body, or some more of it than the limit; None if the client has left. Raises TimeoutError."""
        parts: list[bytes] = []
        size, more = 0, True
        while more:
            message = await asyncio.wait_for(receive(), REST)
            if message["type"] != "http.request":
                return None
            more = message.get("more_body", False)
            if size <= self.limit:  # what comes behind that is taken, and not kept
                parts.append(message.get("body", b""))
                size += len(parts[-1])
        return b"".join(parts)


def _has_none(scope: Scope) -> bool:
    """Whether a request has no body (RFC 9112, section 6.3): it is not waited for, as GET /info must be quick.

    In HTTP/2 no header says so.
    """
    if scope["method"] not in ("GET", "HEAD") or scope["http_version"] == "2":
        return False
    return not any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])


TOO_SLOW = ConfigProblem(
    "request-too-slow",
    f"nothing has come of the request body for {REST:.0f} seconds, or not all of it within {WHOLE:.0f}",
    hint="send the whole body at once",
    error_code=40800,
)


def _too_large(limit: int) -> ConfigProblem:
    return ConfigProblem(
        "request-too-large",
        f"the request body has more than {limit // 2**20} MiB",
        hint="send the statements in several requests",
        error_code=41300,
    )
