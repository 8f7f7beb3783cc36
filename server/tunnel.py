"""Requests whose both directions go on at one time, from a reader process to the server: streams of rows, WebSockets.

httpx, which hands the others on, sends a body whole before it reads an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import h11
from starlette.types import Receive, Scope, Send
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Ping, RejectConnection, Request, TextMessage

from ksqlpy.server.bodies import disconnected

__all__ = ["stream", "websocket"]

Headers = list[tuple[bytes, bytes]]

_PIECE = 2**16


async def stream(socket: str, target: bytes, headers: Headers, scope: Scope, receive: Receive, send: Send) -> None:
    """Hands on a body as it comes, and the answer, line by line. Raises OSError where the server is not there."""
    reader, writer = await asyncio.open_unix_connection(socket)
    connection = h11.Connection(h11.CLIENT)

    async def up() -> None:
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            if body := message.get("body"):
                writer.write(connection.send(h11.Data(data=body)) or b"")
            if not (more := message.get("more_body", False)):
                writer.write(connection.send(h11.EndOfMessage()) or b"")
            await writer.drain()
        await disconnected(receive)

    async def down() -> None:
        rest = b""
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(await reader.read(_PIECE))
            elif isinstance(event, h11.Response):
                kept = [(n, v) for n, v in event.headers if n not in (b"transfer-encoding", b"connection", b"date")]
                await send({"type": "http.response.start", "status": event.status_code, "headers": kept})
            elif isinstance(event, h11.Data):
                lines, end, left = (rest + bytes(event.data)).rpartition(b"\n")
                rest = left
                await send({"type": "http.response.body", "body": lines + end, "more_body": True})
            elif isinstance(event, h11.EndOfMessage):
                await send({"type": "http.response.body", "body": rest, "more_body": False})
                return
            elif not isinstance(event, h11.InformationalResponse):  # it has ended in the midst
                raise ConnectionResetError("the server has ended the answer")

    try:
        own = [(b"host", b"localhost"), (b"transfer-encoding", b"chunked")]
        request = h11.Request(method=scope["method"], target=target, headers=[*own, *headers])
        writer.write(connection.send(request) or b"")
        await _first_of(up(), down())
    finally:
        writer.close()


async def websocket(socket: str, target: bytes, headers: Headers, receive: Receive, send: Send) -> None:
    """Hands on the messages of the server until one of both closes the connection. Raises OSError as :func:`stream`."""
    await receive()  # that the client connects
    reader, writer = await asyncio.open_unix_connection(socket)
    state = WSConnection(ConnectionType.CLIENT)
    try:
        writer.write(state.send(Request(host="localhost", target=target.decode(), extra_headers=headers)))
        await _first_of(_messages(reader, writer, state, send), _left(receive))
    finally:
        writer.close()


async def _messages(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, state: WSConnection, send: Send
) -> None:
    text = ""
    while True:
        data = await reader.read(_PIECE)
        state.receive_data(data or None)
        for event in state.events():
            if isinstance(event, AcceptConnection):
                await send({"type": "websocket.accept"})
            elif isinstance(event, TextMessage):
                text += event.data
                if event.message_finished:
                    await send({"type": "websocket.send", "text": text})
                    text = ""
            elif isinstance(event, Ping):
                writer.write(state.send(event.response()))
            elif isinstance(event, RejectConnection):
                await send({"type": "websocket.close"})
                return
            elif isinstance(event, CloseConnection):
                await send({"type": "websocket.close", "code": event.code, "reason": event.reason})
                return
        if not data:
            return


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "websocket.disconnect":
        pass


async def _first_of(*work: Coroutine[Any, Any, None]) -> None:
    """Does all until the first is done; raises what that one raises."""
    tasks = [asyncio.create_task(w) for w in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
