"""GET /ws/query: a query over a WebSocket; a message with the columns, then one for each row.

Source of the rules: ksqlDB's ``WSQueryEndpoint``: the query stands in the address, an error in the reason by which the
connection is closed, and in a message ahead of it, since a reason has 123 bytes at most.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from fastapi import APIRouter, WebSocket
from starlette.websockets import WebSocketDisconnect

from ksqlpy.errors import ConfigProblem, KsqlError
from ksqlpy.runtime.entities import fields
from ksqlpy.server.auth import Access, access_of
from ksqlpy.server.backend import Backend, PushQuery
from ksqlpy.server.errors import unforeseen
from ksqlpy.server.queries import PATIENCE, OldQuery, Rows, begun
from ksqlpy.server.response_encoders import Objects
from ksqlpy.server.wire import KSQL_V1, encode, parse_body

__all__ = ["router"]

router = APIRouter()

_log = logging.getLogger("ksqlpy.server")

DONE, GOING_AWAY, CANNOT_ACCEPT, UNEXPECTED, TRY_LATER = 1000, 1001, 1003, 1011, 1013
"""Codes of RFC 6455, section 7.4.1, and of IANA's list."""

_REASON = 123
"""Bytes of a reason."""


@router.websocket("/ws/query")
async def ws_query(socket: WebSocket) -> None:
    """Answers the query in the parameter ``request``, which is as the body of POST /query."""
    backend: Backend = socket.app.state.backend
    await socket.accept()
    try:
        query = await _asked(socket, backend)
    except Exception as e:
        await _fail(socket, e)
        return
    access = access_of(socket.scope)
    ending = asyncio.create_task(_end_with_access(access, backend, query))
    try:
        with backend.streaming(query):
            await _while_there(socket, _write(socket, backend, query, access))
    finally:
        ending.cancel()
        await asyncio.shield(asyncio.create_task(_closed(backend, query)))


async def _asked(socket: WebSocket, backend: Backend) -> PushQuery:
    backend.check()
    text = socket.query_params.get("request")
    if text is None:
        hint = f"ask for /ws/query?request=…, a text such as {OldQuery.example}, with its characters encoded"
        raise ConfigProblem("bad-request", "the parameter request is missing", hint=hint)
    return await begun(backend, parse_body(text.encode(errors="surrogatepass"), OldQuery))


async def _end_with_access(access: Access | None, backend: Backend, query: PushQuery) -> None:
    """Closes the query when its client would not be let in any more; who writes the rows says so."""
    if access is not None:
        await access.ended.wait()
        await _closed(backend, query)


async def _write(socket: WebSocket, backend: Backend, query: PushQuery, access: Access | None) -> None:
    """Sends the rows, and closes the connection."""
    encoder = Objects(KSQL_V1)
    if not query.plain:
        encoder.header(query.id, query.columns)
        await _out(socket, encode(fields(query.columns)))
    rows = Rows(query, encoder)
    try:
        async for some in rows:
            for row in some:
                await _out(socket, row.rstrip(b"\n") if query.plain else row)
        end = (access.problem() if access is not None else None) or backend.problem()
    except Exception as e:
        await _fail(socket, e)
        return
    finally:
        rows.stop()
    if end is not None and not query.limit_reached:
        await _fail(socket, end)
    else:
        await socket.close(DONE, "done")


async def _out(socket: WebSocket, data: bytes) -> None:
    """Sends a message. Raises TimeoutError where the client does not take it."""
    async with asyncio.timeout(PATIENCE):
        await socket.send_text(data.decode(errors="replace"))


async def _while_there(socket: WebSocket, work: Coroutine[Any, Any, None]) -> None:
    """Does the work until it is done or the client leaves."""
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_left(socket))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _left(socket: WebSocket) -> None:
    """Waits until the client has left; what it says is not listened to."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


async def _fail(socket: WebSocket, error: Exception) -> None:
    """Says why there are no more rows, and closes the connection."""
    if isinstance(error, WebSocketDisconnect):
        return
    if isinstance(error, TimeoutError):
        _log.warning("a client of /ws/query takes no rows and is dropped")
        await socket.close(UNEXPECTED, "no rows were taken")
        return
    if not isinstance(error, KsqlError):
        _log.exception("/ws/query failed", exc_info=error)
    problem = error if isinstance(error, KsqlError) else unforeseen(error)
    await _out(socket, Objects(KSQL_V1).failure(problem))
    await socket.close(code_of(problem), reason_of(problem))


def code_of(problem: KsqlError) -> int:
    """The code by which the connection is closed."""
    if problem.error_code in (50302, 40003):
        return TRY_LATER
    if problem.error_code == 50303:
        return GOING_AWAY
    return CANNOT_ACCEPT if problem.error_code < 50000 else UNEXPECTED


def reason_of(problem: KsqlError) -> str:
    """As much of the message as a reason takes."""
    return problem.summary().encode()[:_REASON].decode(errors="ignore")


async def _closed(backend: Backend, query: PushQuery) -> None:
    try:
        await backend.call(query.close)
    except Exception:
        _log.exception("query %s could not be closed", query.id)
