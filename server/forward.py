"""What a reader process does not answer itself: it is handed to the server, and its answer back, piece by piece."""

from __future__ import annotations

import asyncio

import httpx
from starlette.types import Message, Receive, Scope, Send

from ksqlpy.errors import EngineProblem
from ksqlpy.request import REQUEST
from ksqlpy.server import tunnel
from ksqlpy.server.auth import access_of
from ksqlpy.server.auth.vouch import HEADERS, vouched
from ksqlpy.server.bodies import STREAMED, disconnected
from ksqlpy.server.errors import error_response
from ksqlpy.server.requests import HEADER
from ksqlpy.server.response_encoders import frame

__all__ = ["Forward"]

_OF_THE_CONNECTION = {
    b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade",
    b"http2-settings",
}  # fmt: skip
"""Headers that are not handed on (RFC 9110, section 7.6.1)."""

_LOOKED_AT = {b"host", b"origin", b"sec-fetch-site", b"content-length"}
"""Headers of requests that have done their work: the gate has looked at them, the body is whole."""


_ID = HEADER.lower().encode()


class Forward:
    """An ASGI application that asks a server behind a Unix socket; stands behind what reads bodies whole."""

    def __init__(self, socket: str, secret: str) -> None:
        """``secret``: by which the server knows that it is asked by a reader."""
        self._socket = socket
        self._secret = secret
        self._transport = httpx.AsyncHTTPTransport(
            uds=socket, limits=httpx.Limits(max_connections=None, max_keepalive_connections=100)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hands on a request and its answer."""
        if scope["type"] not in ("http", "websocket"):
            return
        headers = [(n, v) for n, v in scope["headers"] if n not in _OF_THE_CONNECTION | _LOOKED_AT | HEADERS]
        if (access := access_of(scope)) is not None:
            headers += vouched(access.session, scope, self._secret)
        if (its := REQUEST.get()) is not None:
            headers = [(n, v) for n, v in headers if n != _ID] + [(_ID, its.id.encode())]
        path = scope.get("raw_path") or scope["path"].encode()
        query = scope.get("query_string", b"")
        target = path + (b"?" + query if query else b"")
        if scope["type"] == "websocket":
            kept = [(n, v) for n, v in headers if not n.startswith(b"sec-websocket-")]
            await tunnel.websocket(self._socket, target, kept, receive, send)
            return
        if scope["path"] in STREAMED:
            await self._stream(target, headers, scope, receive, send)
            return
        body = (await receive()).get("body", b"")
        request = httpx.Request(
            scope["method"],
            httpx.URL("http://localhost", raw_path=target),
            headers=[(b"host", b"localhost"), *headers],
            content=body,
        )
        try:
            answer = await self._transport.handle_async_request(request)
        except httpx.TransportError as e:
            await error_response(_away(e))(scope, receive, send)
            return
        writer = asyncio.create_task(_hand_back(answer, send))
        gone = asyncio.create_task(disconnected(receive))
        try:
            await asyncio.wait({writer, gone}, return_when=asyncio.FIRST_COMPLETED)
            if writer.done():
                writer.result()
        finally:
            writer.cancel()
            gone.cancel()
            await asyncio.gather(writer, gone, return_exceptions=True)
            await asyncio.shield(asyncio.create_task(answer.aclose()))

    async def _stream(self, target: bytes, headers: tunnel.Headers, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await tunnel.stream(self._socket, target, headers, scope, receive, watched)
        except OSError as e:
            if begun:
                raise
            await error_response(_away(e))(scope, receive, send)


def _away(error: Exception) -> EngineProblem:
    said = f"the server does not answer its reader: {error}"
    return EngineProblem("server-stopping", said, error_code=50303)


async def _hand_back(answer: httpx.Response, send: Send) -> None:
    headers = [(n, v) for n, v in answer.headers.raw if n.lower() not in _OF_THE_CONNECTION | {b"date"}]
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
    if "content-length" in answer.headers:
        whole = b"".join([part async for part in answer.aiter_raw()])  # as it is, also where it is compressed
        await send({"type": "http.response.body", "body": whole, "more_body": False})
        return
    # Clients that take rows one by one take each frame for one, and rows are lines.
    rest = b""
    async for data in answer.aiter_raw():
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            await frame(send, line + b"\n")
    await send({"type": "http.response.body", "body": rest, "more_body": False})
