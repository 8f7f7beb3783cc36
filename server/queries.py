"""POST /query-stream and /close-query: queries whose rows come as they happen.

Source of the rules: ksqlDB manual, "Run push and pull queries (/query-stream)", "Terminate a push query".
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field
from starlette.types import Receive, Scope, Send

from ksqlpy.errors import ConfigProblem, KsqlError, shown
from ksqlpy.server.backend import Backend, PushQuery, begin
from ksqlpy.server.errors import error_body, unforeseen
from ksqlpy.server.statements import text_variables
from ksqlpy.server.wire import DELIMITED, JSON, KSQL_V1, Body, JsonResponse, encode, read_body

__all__ = ["CloseQuery", "Query", "RowStream", "router"]

router = APIRouter()

_log = logging.getLogger("ksqlpy.server")

AHEAD = 1000
"""Rows that are read from a query before its client has taken them; then the query waits."""


class Query(Body):
    """Body of POST /query-stream."""

    example = '{"sql": "SELECT * FROM rides EMIT CHANGES;"}'

    sql: str
    properties: dict[str, Any] | None = None
    request_properties: dict[str, Any] | None = Field(None, alias="requestProperties")
    variables: dict[str, Any] | None = Field(None, alias="sessionVariables")


class CloseQuery(Body):
    """Body of POST /close-query."""

    example = '{"queryId": "…"}'

    query_id: str = Field(alias="queryId")


@router.post("/query-stream")
async def query_stream(request: Request) -> Response:
    """Starts a query and streams its rows until LIMIT, /close-query or the client's leaving.

    Delimited (the default): a header object, then one JSON array a row, each on a line of its own; JSON: one array of
    the same elements. A failure on the way is an error entity in the place of a row, and the last one. PRINT streams
    lines of text, and has no other form than the default.
    """
    backend, media_type = await begin(request, (DELIMITED, JSON))
    body = await read_body(request, Query)
    variables = text_variables(body.variables)
    query = await backend.call(backend.engine.push, body.sql, body.properties or {}, variables)
    if query.plain and media_type == JSON:
        await backend.call(query.close)
        raise KsqlError("not-acceptable", "PRINT gives lines of text", hint=f"accept {DELIMITED}", error_code=40600)
    return RowStream(backend, query, media_type)


@router.post("/close-query")
async def close_query(request: Request) -> JsonResponse:
    """Ends a push query; 400 when there is none of that id."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    query_id = (await read_body(request, CloseQuery)).query_id
    if not await backend.call(backend.engine.close_query, query_id):
        raise ConfigProblem("unknown-query", f"there is no push query {shown(query_id)}")
    return JsonResponse({}, media_type=media_type)


class RowStream(Response):
    """The rows of a push query as a body: one send, and so one chunk or DATA frame, for each row.

    The query is closed when the stream ends in any way. Starlette's own streaming response is not used because it gives
    no say in when a frame leaves.
    """

    def __init__(self, backend: Backend, query: PushQuery, media_type: str) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        if query.plain:  # there is no other place for it
            self.headers["x-query-id"] = query.id
        self.backend = backend
        self.query = query
        before, between, after = (b"[", b",\n", b"]\n") if media_type == JSON else (b"", b"", b"")
        self._before, self._between, self._after = before, between, after
        self._line_end = b"" if media_type == JSON else b"\n"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the stream; an ASGI application."""
        writer = asyncio.create_task(self._write(send))
        gone = asyncio.create_task(_disconnected(receive))
        try:
            with self.backend.streaming(self.query):
                await asyncio.wait({writer, gone}, return_when=asyncio.FIRST_COMPLETED)
                if writer.done():
                    writer.result()
        finally:
            writer.cancel()
            gone.cancel()
            # In its own task, so that it happens even when this one is cancelled.
            await asyncio.shield(asyncio.create_task(self._close()))

    async def _close(self) -> None:
        try:
            await self.backend.call(self.query.close)
        except Exception:
            _log.exception("push query %s could not be closed", self.query.id)

    async def _write(self, send: Send) -> None:
        async def out(data: bytes) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": True})
            # Sending does not wait as long as buffers have room, so in a burst nobody else would get a turn: other
            # clients, the one who notices that this client has left, and HTTP/2's sending task, which then would
            # put several rows into one frame.
            await asyncio.sleep(0)

        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await out(b"" if self.query.plain else self._before + encode(_header(self.query)) + self._line_end)
        end: KsqlError | None = None
        rows = _Rows(self.query)
        try:
            async for row in rows:
                await out(self._between + row + self._line_end)
            end = self.backend.problem()
        except KsqlError as e:
            end = e
        finally:
            rows.stop()
        if end is not None and not self.query.limit_reached:
            await out(self._between + encode(error_body(end)) + self._line_end)
        await send({"type": "http.response.body", "body": self._after, "more_body": False})


def _header(query: PushQuery) -> Mapping[str, object]:
    return {
        "queryId": query.id,
        "columnNames": [c.name for c in query.columns],
        "columnTypes": [str(c.type) for c in query.columns],
    }


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class _Rows:
    """The rows of a query as JSON, brought from a thread that may wait for them to the event loop that may not."""

    def __init__(self, query: PushQuery) -> None:
        self._query = query
        self._loop = asyncio.get_running_loop()
        self._rows: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self._space = threading.Semaphore(AHEAD)
        self._stopped = False
        self._ended = False
        self._failure: KsqlError | None = None
        threading.Thread(target=self._read, name=f"push {query.id}", daemon=True).start()

    def _read(self) -> None:
        try:
            for row in self._query.rows():
                if self._stopped:
                    return
                if row is not None:
                    data = row.encode() if self._query.plain else encode(row)
                    self._space.acquire()
                    self._rows.append(data)
                    self._wake()
        except KsqlError as e:
            self._failure = e
        except Exception as e:
            _log.exception("push query %s failed", self._query.id)
            self._failure = unforeseen(e)
        finally:
            self._ended = True
            self._wake()

    def _wake(self) -> None:
        # The reader clears the event before it empties the queue, so a row is never left behind.
        if not self._changed.is_set():
            with contextlib.suppress(RuntimeError):  # the loop is gone
                self._loop.call_soon_threadsafe(self._changed.set)

    def stop(self) -> None:
        """Lets the thread end; the query itself must be closed too."""
        self._stopped = True
        self._space.release()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            ended = self._ended
            while self._rows:
                self._space.release()
                yield self._rows.popleft()
            if ended:
                break
            await self._changed.wait()
            self._changed.clear()
        if self._failure is not None:
            raise self._failure
