"""The span of a request: made ahead of all that looks at it, and handed on to what is done for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ksqlpy import tracing
from ksqlpy.config import Config
from ksqlpy.server.endpoints import LEFT, code_of, endpoint_of
from ksqlpy.server.lookups import Found, LookUp

__all__ = ["Traced", "look_up_traced"]

UNTRACED = frozenset({"/metrics", "/live", "/ready", "/chc/live", "/chc/ready", "/healthcheck"})
"""Endpoints that programs ask again and again, to see whether the server is well."""

FAILED = "5"
"""The first digit of codes that are the server's fault."""


class Traced:
    """Makes the spans; ``endpoints``: the paths that there are, by which spans are named."""

    def __init__(self, app: ASGIApp, endpoints: Collection[str]) -> None:
        self.app = app
        self._endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Calls the application; an ASGI application."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        endpoint, code = endpoint_of(scope["path"], self._endpoints), LEFT
        method = scope.get("method", "GET")  # a WebSocket begins with it
        attributes = {"http.request.method": method, "http.route": endpoint, "url.scheme": scope.get("scheme", "http")}
        given, untraced = tracing.of_request(scope["headers"]), endpoint in UNTRACED

        async def watched(message: Message) -> None:
            nonlocal code
            code = code_of(message, code)
            await send(message)

        with tracing.request(f"{method} {endpoint}", given, attributes, spans=not untraced) as span:
            try:
                await self.app(_renewed(scope), receive, watched)
            finally:
                span.set("http.response.status_code", int(code))
                if code.startswith(FAILED):
                    span.failed(code)


def _renewed(scope: Scope) -> Scope:
    """The request with the headers of our span, for a server that a reader hands it to."""
    now = tracing.current()
    if now is None:
        return scope
    kept = [(name, value) for name, value in scope["headers"] if name not in (b"traceparent", b"tracestate")]
    return {**scope, "headers": [*kept, *((name.encode(), value) for name, value in now.of_record())]}


def look_up_traced(look_up: LookUp, config: Config) -> LookUp:
    """The same with a span for each lookup, where spans are made at all."""
    if not config.get(tracing.ENDPOINT):
        return look_up

    def traced(sql: str, properties: Mapping[str, Any]) -> Found | None:
        span = tracing.begin("lookup")
        try:
            found = look_up(sql, properties)
        except BaseException as e:
            span.failed(e)
            span.end()
            raise
        if found is not None:  # else it is none, and answered as other queries are
            span.set("ksqlpy.rows", len(found[1]))
            span.end()
        return found

    return traced
