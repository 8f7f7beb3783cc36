"""POST /query-stream and /close-query: queries whose rows come as they happen.

Source of the rules: ksqlDB manual, "Run push and pull queries (/query-stream)", "Terminate a push query".
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field
from starlette.types import Receive, Scope, Send

from ksqlpy.atwork import step, waiting
from ksqlpy.errors import ConfigProblem, EngineProblem, KsqlError, shown
from ksqlpy.reading.batch import Batch
from ksqlpy.request import QUERY
from ksqlpy.server.auth import Access, access_of
from ksqlpy.server.backend import Backend, PushQuery, begin
from ksqlpy.server.bodies import disconnected
from ksqlpy.server.errors import unforeseen
from ksqlpy.server.response_encoders import TOGETHER, Encoder, Exact, Lines, Messages, Objects, frame, has_arrow
from ksqlpy.server.statements import text_variables
from ksqlpy.server.wire import (
    BEHIND_HEADER,
    DELIMITED,
    JSON,
    KSQL_V1,
    PROTOBUF,
    ROWS_HEADER,
    Body,
    JsonResponse,
    behind_text,
    read_body,
)
from ksqlpy.server.workers import start

__all__ = ["PATIENCE", "CloseQuery", "OldQuery", "Query", "RowStream", "Rows", "begun", "router"]

router = APIRouter()

_log = logging.getLogger("ksqlpy.server")

TOKEN = "request.ksql.query.push.continuation.token"
"""The request property with which a client gives a continuation token back."""

AHEAD = 1000
"""Rows that are read from a query before its client has taken them; then the query waits."""

AHEAD_BYTES = 2**20
"""As :data:`AHEAD`, of rows that are large: behind the one that is more than this the query waits."""

BEHIND, BEHIND_BYTES = 20_000, 2**26
"""Rows that are kept for a client that does not take them, of a query whose rows others get as well."""

PATIENCE = 120.0
"""Seconds after which a client that takes nothing, although there are rows for it, is dropped."""


class Query(Body):
    """Body of POST /query-stream."""

    example = '{"sql": "SELECT * FROM rides EMIT CHANGES;"}'

    sql: str
    properties: dict[str, Any] | None = None
    request_properties: dict[str, Any] | None = Field(None, alias="requestProperties")
    variables: dict[str, Any] | None = Field(None, alias="sessionVariables")


class OldQuery(Body):
    """Body of POST /query."""

    example = '{"ksql": "SELECT * FROM rides EMIT CHANGES;"}'

    sql: str = Field(alias="ksql")
    properties: dict[str, Any] | None = Field(None, alias="streamsProperties")
    request_properties: dict[str, Any] | None = Field(None, alias="requestProperties")
    variables: dict[str, Any] | None = Field(None, alias="sessionVariables")


class CloseQuery(Body):
    """Body of POST /close-query."""

    example = '{"queryId": "…"}'

    query_id: str = Field(alias="queryId")


@router.post("/query-stream")
async def query_stream(request: Request) -> Response:
    """Starts a query and streams its rows until LIMIT, /close-query or the client's leaving; a pull query ends itself.

    Delimited (the default): a header object, then one JSON array a row, each on a line of its own; JSON: one array of
    the same elements. A failure on the way is an error entity in the place of a row, and the last one. PRINT streams
    lines of text, and has no other form than the default. ksqlDB's first form: as POST /query. Protobuf: the same with
    the rows as messages.
    """
    backend, media_type = await begin(request, (DELIMITED, JSON, KSQL_V1, PROTOBUF))
    body = await read_body(request, Query)
    encoder = _encoder(media_type, request)
    query = await begun(backend, body)
    if query.plain and media_type != DELIMITED:
        await backend.call(query.close)
        raise KsqlError("not-acceptable", "PRINT gives lines of text", hint=f"accept {DELIMITED}", error_code=40600)
    return RowStream(backend, query, Lines(media_type) if query.plain else encoder)


def _encoder(media_type: str, request: Request) -> Encoder:
    wanted = {w.strip() for w in request.headers.get(ROWS_HEADER, "").split(",")}
    if media_type == DELIMITED and "numbers" in wanted:
        return Exact(media_type, columnar="arrow" in wanted and has_arrow())
    return {JSON: Encoder, KSQL_V1: Objects, PROTOBUF: Messages, DELIMITED: Lines}[media_type](media_type)


@router.post("/query")
async def query_old(request: Request) -> Response:
    """The same as ksqlDB's first API has it: one JSON array of objects, ``header``, ``row``, … and ``finalMessage``."""
    backend, media_type = await begin(request, (KSQL_V1, JSON, PROTOBUF))
    body = await read_body(request, OldQuery)
    query = await begun(backend, body)
    if query.plain:
        await backend.call(query.close)
        raise KsqlError("not-acceptable", "PRINT is for /query-stream", hint=f"accept {DELIMITED}", error_code=40600)
    return RowStream(backend, query, (Messages if media_type == PROTOBUF else Objects)(media_type))


async def begun(backend: Backend, body: Query | OldQuery) -> PushQuery:
    """Starts the query of a request; raises KsqlError."""
    token = (body.request_properties or {}).get(TOKEN)
    if token is not None and not isinstance(token, str):
        raise ConfigProblem("bad-token", f"the value of {TOKEN} is not a string")
    variables = text_variables(body.variables)
    return await backend.call(backend.engine.query, body.sql, body.properties or {}, variables, token)


@router.post("/close-query")
async def close_query(request: Request) -> JsonResponse:
    """Ends a push query; 400 when there is none of that id."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    query_id = (await read_body(request, CloseQuery)).query_id
    if not await backend.call(backend.engine.close_query, query_id):
        raise ConfigProblem("unknown-query", f"there is no push query {shown(query_id)}")
    return JsonResponse({}, media_type=media_type)


class RowStream(Response):
    """The rows of a query as a body: one send, and so one chunk or DATA frame, for each row that may not linger.

    The query is closed when the stream ends in any way. Starlette's own streaming response is not used because it gives
    no say in when a frame leaves.
    """

    def __init__(self, backend: Backend, query: PushQuery, encoder: Encoder) -> None:
        super().__init__(media_type=encoder.media_type)
        del self.headers["content-length"]
        if query.plain:  # there is no other place for it
            self.headers["x-query-id"] = query.id
        if query.behind:
            self.headers[BEHIND_HEADER] = behind_text(query.behind)
        self.backend = backend
        self.query = query
        self._encoder = encoder
        self._access: Access | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the stream; an ASGI application."""
        self._access = access_of(scope)
        writer = asyncio.create_task(self._write(send))
        gone = asyncio.create_task(disconnected(receive))
        ending = asyncio.create_task(self._end_with_access())
        try:
            with self.backend.streaming(self.query):
                await asyncio.wait({writer, gone}, return_when=asyncio.FIRST_COMPLETED)
                if writer.done():
                    writer.result()
        except TimeoutError:
            _log.warning("the client of query %s takes no rows and is dropped", self.query.id)
        finally:
            writer.cancel()
            gone.cancel()
            ending.cancel()
            # In its own task, so that it happens even when this one is cancelled.
            await asyncio.shield(asyncio.create_task(self._close()))

    async def _end_with_access(self) -> None:
        """Closes the query when its client would not be let in any more; the writer says so."""
        if self._access is not None:
            await self._access.ended.wait()
            await self._close()

    async def _close(self) -> None:
        try:
            await self.backend.call(self.query.close)
        except Exception:
            _log.exception("query %s could not be closed", self.query.id)

    async def _write(self, send: Send) -> None:
        encoder = self._encoder

        async def out(data: bytes) -> None:
            async with asyncio.timeout(PATIENCE):
                await frame(send, data)

        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await out(
            b""
            if self.query.plain
            else encoder.before + encoder.header(self.query.id, self.query.columns) + encoder.line_end
        )
        end: KsqlError | None = None
        rows = Rows(self.query, encoder)
        try:
            async for some in rows:
                await out(b"".join(map(encoder.framed, some)))
            end = (self._access.problem() if self._access is not None else None) or self.backend.problem()
        except KsqlError as e:
            end = e
        finally:
            rows.stop()
        if end is not None and not self.query.limit_reached:
            await out(encoder.between + encoder.failure(end) + encoder.line_end)
        elif (last := encoder.end(self.query)) is not None:
            await out(encoder.between + last + encoder.line_end)
        await send({"type": "http.response.body", "body": encoder.after, "more_body": False})


class Rows:
    """The rows of a query as JSON, brought from a thread that may wait for them to the event loop that may not.

    Of rows that others get as well, no more are kept for a client that does not take them than :data:`BEHIND` says.
    """

    def __init__(self, query: PushQuery, encoder: Encoder) -> None:
        self._query = query
        self._encoder = encoder
        self._together = query.lingers or isinstance(encoder, Exact)
        self._loop = asyncio.get_running_loop()
        self._rows: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self._size = 0
        self._space = threading.Condition()
        self._stopped = False
        self._ended = False
        self._left = query.limit
        self._failure: KsqlError | None = None
        if query.limit_reached or not query.subscribe(self._given, self._failed, self._closed):
            read = partial(contextvars.copy_context().run, self._read)  # its log lines are of this request, too
            start(threading.Thread(target=read, name=f"rows of {query.id}", daemon=True).start)

    def _given(self, batch: Batch) -> None:
        """Takes rows from the thread that gives them to all."""
        with contextlib.suppress(RuntimeError):  # the loop is gone
            self._loop.call_soon_threadsafe(self._take, batch.encoded(type(self._encoder), self._encoder.row))

    def _failed(self, error: Exception) -> None:
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end, error if isinstance(error, KsqlError) else unforeseen(error))

    def _closed(self) -> None:
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end, None)

    def _take(self, rows: list[bytes]) -> None:
        if self._ended:
            return
        if self._left is not None:
            rows = rows[: self._left]
            self._left -= len(rows)
        self._rows += rows
        self._size += sum(map(len, rows))
        if self._left == 0:
            self._query.limit_reached = True
            self._ended = True
        elif len(self._rows) > BEHIND or self._size > BEHIND_BYTES:
            self._rows.clear()
            said = f"the client of query {self._query.id} does not take its rows"
            self._end(EngineProblem("slow-client", said, hint="read faster, or ask again from an offset of your own"))
        self._changed.set()

    def _end(self, error: KsqlError | None) -> None:
        """No more rows come; ``error``: why, if that is a failure."""
        if not self._ended:
            self._failure, self._ended = error, True
        self._changed.set()

    def _read(self) -> None:
        QUERY.set(self._query.id)
        try:
            for data in self._encoded():
                if self._stopped:
                    return
                if not data:
                    continue
                if self._is_full:
                    self._wait_for_space()
                with self._space:
                    self._rows.append(data)
                    self._size += len(data)
                self._wake()
                step()
        except KsqlError as e:
            self._failure = e
        except Exception as e:
            _log.exception("query %s failed", self._query.id)
            self._failure = unforeseen(e)
        finally:
            self._ended = True
            self._wake()

    def _encoded(self) -> Iterator[bytes]:
        """The rows as bytes; nothing of one that the form does not show, and while nothing comes."""
        encoder = self._encoder
        pieces = self._query.pieces() if isinstance(encoder, Exact) else None
        if pieces is None or not isinstance(encoder, Exact):
            for row in self._query.rows():
                yield b"" if row is None else row.encode() if self._query.plain else encoder.row(row)
            return
        left = pieces.limit
        with contextlib.closing(pieces.items):
            for piece in pieces.items if left != 0 else ():
                for data, count in encoder.piece(piece, left) if piece is not None else ((b"", 0),):
                    left = None if left is None else left - count
                    yield data
                if left == 0:
                    break
        self._query.limit_reached = left == 0

    @property
    def _is_full(self) -> bool:
        return len(self._rows) >= AHEAD or self._size >= AHEAD_BYTES

    def _wait_for_space(self) -> None:
        with waiting(), self._space:  # not the other way round: the event loop must not wait for a turn
            while self._is_full and not self._stopped:
                self._space.wait()

    def _wake(self) -> None:
        # The reader clears the event before it empties the queue, so a row is never left behind.
        if not self._changed.is_set():
            with contextlib.suppress(RuntimeError):  # the loop is gone
                self._loop.call_soon_threadsafe(self._changed.set)

    def stop(self) -> None:
        """Lets the thread end; the query itself must be closed too."""
        self._stopped = True
        with self._space:
            self._space.notify()

    async def __aiter__(self) -> AsyncIterator[list[bytes]]:
        """Gives rows one by one, or all that are there where they may be sent together."""
        while True:
            ended = self._ended
            while self._rows:
                with self._space:
                    rows = [self._rows.popleft()]
                    size = len(rows[0])
                    while self._together and self._rows and size < TOGETHER:
                        rows.append(self._rows.popleft())
                        size += len(rows[-1])
                    self._size -= size
                    self._space.notify()
                yield rows
            if ended:
                break
            await self._changed.wait()
            self._changed.clear()
        if self._failure is not None:
            raise self._failure
