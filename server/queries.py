"""POST /query-stream and /close-query: queries whose rows come as they happen.

Source of the rules: ksqlDB manual, "Run push and pull queries (/query-stream)", "Terminate a push query".
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import logging
import threading
from collections import deque
from collections.abc import AsyncIterator, Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field
from starlette.types import Receive, Scope, Send

from ksqlpy.catalog import Column, ValueSpec
from ksqlpy.errors import ConfigProblem, KsqlError, shown
from ksqlpy.formats import JSON as JSON_FORMAT
from ksqlpy.formats import codec
from ksqlpy.formats.protobuf import PROTOBUF_NOSR
from ksqlpy.formats.protoschema import schema_of
from ksqlpy.reading import Gone
from ksqlpy.server.backend import Backend, PushQuery, begin
from ksqlpy.server.errors import error_body, unforeseen
from ksqlpy.server.statements import text_variables
from ksqlpy.server.wire import DELIMITED, JSON, KSQL_V1, PROTOBUF, Body, JsonResponse, encode, read_body

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
    lines of text, and has no other form than the default. Protobuf: one JSON array of ``header`` and ``row`` objects,
    with the rows as messages.
    """
    backend, media_type = await begin(request, (DELIMITED, JSON, PROTOBUF))
    body = await read_body(request, Query)
    form = {JSON: Form, PROTOBUF: Messages, DELIMITED: Lines}[media_type](media_type)
    if (answer := _looked_up(backend, body, form)) is not None:
        return answer
    query = await _begun(backend, body)
    if query.plain and media_type != DELIMITED:
        await backend.call(query.close)
        raise KsqlError("not-acceptable", "PRINT gives lines of text", hint=f"accept {DELIMITED}", error_code=40600)
    return RowStream(backend, query, form)


@router.post("/query")
async def query_old(request: Request) -> Response:
    """The same as ksqlDB's first API has it: one JSON array of objects, ``header``, ``row``, … and ``finalMessage``."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    body = await read_body(request, OldQuery)
    if (answer := _looked_up(backend, body, Objects(media_type))) is not None:
        return answer
    query = await _begun(backend, body)
    if query.plain:
        await backend.call(query.close)
        raise KsqlError("not-acceptable", "PRINT is for /query-stream", hint=f"accept {DELIMITED}", error_code=40600)
    return RowStream(backend, query, Objects(media_type))


def _looked_up(backend: Backend, body: Query | OldQuery, form: Form) -> Response | None:
    """The whole answer to a lookup that takes no time; None for all other queries.

    It is found here, in the event loop: a way through another thread would take longer.
    """
    if body.variables:
        return None
    found = backend.engine.look_up(body.sql, body.properties or {})
    if found is None:
        return None
    columns, rows = found
    header = form.header(f"pull_{next(_number)}", columns)
    parts = [form.before + header, *(form.between + form.row(row) for row in rows)]
    pieces = [part + form.line_end for part in parts]
    if form.line_end:  # clients that take rows one by one take each frame for one
        return Pieces(pieces, form.media_type)
    return Response(b"".join([*pieces, form.after]), media_type=form.media_type)


_number = itertools.count(1)


async def _begun(backend: Backend, body: Query | OldQuery) -> PushQuery:
    return await backend.call(backend.engine.query, body.sql, body.properties or {}, text_variables(body.variables))


@router.post("/close-query")
async def close_query(request: Request) -> JsonResponse:
    """Ends a push query; 400 when there is none of that id."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    query_id = (await read_body(request, CloseQuery)).query_id
    if not await backend.call(backend.engine.close_query, query_id):
        raise ConfigProblem("unknown-query", f"there is no push query {shown(query_id)}")
    return JsonResponse({}, media_type=media_type)


class Form:
    """How an answer is written: a JSON array of a header and of rows, which are arrays too."""

    before, between, line_end, after = b"[", b",\n", b"", b"]\n"

    def __init__(self, media_type: str) -> None:
        self.media_type = media_type

    def header(self, query_id: str, columns: Sequence[Column]) -> bytes:
        """What comes first."""
        return encode(
            {
                "queryId": query_id,
                "columnNames": [c.name for c in columns],
                "columnTypes": [str(c.type) for c in columns],
            }
        )

    def row(self, values: object) -> bytes:
        """A row; nothing of one that is gone, as ksqlDB has it."""
        return b"" if isinstance(values, Gone) else encode(values)

    def failure(self, error: KsqlError) -> bytes:
        """What comes last where the query failed."""
        return encode(error_body(error))

    def end(self, query: PushQuery) -> bytes | None:
        """What comes last otherwise."""
        return None


class Lines(Form):
    """Header and rows on lines of their own."""

    before, between, line_end, after = b"", b"", b"\n", b""


class Objects(Form):
    """ksqlDB's first API: a JSON array of objects with one name each (``StreamedRow``)."""

    def header(self, query_id: str, columns: Sequence[Column]) -> bytes:
        """The id, and the schema as text."""
        schema = ", ".join(f"`{c.name}` {c.type}{' KEY' if c.key else ''}" for c in columns)
        return encode({"header": {"queryId": query_id, "schema": schema}})

    def row(self, values: object) -> bytes:
        """The columns of a row, or of one that is gone."""
        if isinstance(values, Gone):
            return encode({"row": {"columns": values.columns, "tombstone": True}})
        return encode({"row": {"columns": values}})

    def failure(self, error: KsqlError) -> bytes:
        """The error."""
        return encode({"errorMessage": error_body(error)})

    def end(self, query: PushQuery) -> bytes | None:
        """How the query ended, where that is not certain."""
        if query.limit_reached and query.stream:
            return encode({"finalMessage": "Limit Reached"})
        return encode({"finalMessage": "Query Completed"}) if query.stream else None


class Messages(Objects):
    """The same with rows as Protobuf messages, whose schema is in the header (``application/vnd.ksql.v1+protobuf``)."""

    def header(self, query_id: str, columns: Sequence[Column]) -> bytes:
        """The id, and the schema as the text of a .proto file."""
        plain = tuple(Column(c.name, c.type) for c in columns)
        self._names = [c.name for c in columns]
        self._values = codec(ValueSpec(JSON_FORMAT.name, plain))
        spec = ValueSpec(PROTOBUF_NOSR.name, plain)
        self._messages = codec(spec)
        return encode({"header": {"queryId": query_id, "protoSchema": schema_of(spec)}})

    def row(self, values: object) -> bytes:
        """The message of a row; nothing of one that is gone."""
        if isinstance(values, Gone):
            return b""
        read = self._values.decode(encode(dict(zip(self._names, values, strict=True))))  # type: ignore[call-overload]
        written = self._messages.encode(read) or b""
        return encode({"row": {"protobufBytes": base64.b64encode(written).decode()}})


class Pieces(Response):
    """A finished answer that leaves piece by piece: one send, and so one DATA frame, for each."""

    def __init__(self, pieces: Sequence[bytes], media_type: str) -> None:
        super().__init__(b"".join(pieces), media_type=media_type)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the pieces; an ASGI application."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for piece in self._pieces:
            await _frame(send, piece)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _frame(send: Send, data: bytes) -> None:
    """Sends a piece of a body so that it leaves before the next one."""
    await send({"type": "http.response.body", "body": data, "more_body": True})
    # Sending does not wait as long as buffers have room, so in a burst nobody else would get a turn: other clients, the
    # one who notices that this client has left, and HTTP/2's sending task.
    await asyncio.sleep(0)


class RowStream(Response):
    """The rows of a query as a body: one send, and so one chunk or DATA frame, for each row.

    The query is closed when the stream ends in any way. Starlette's own streaming response is not used because it gives
    no say in when a frame leaves.
    """

    def __init__(self, backend: Backend, query: PushQuery, form: Form) -> None:
        super().__init__(media_type=form.media_type)
        del self.headers["content-length"]
        if query.plain:  # there is no other place for it
            self.headers["x-query-id"] = query.id
        self.backend = backend
        self.query = query
        self._form = form

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
            _log.exception("query %s could not be closed", self.query.id)

    async def _write(self, send: Send) -> None:
        form = self._form

        async def out(data: bytes) -> None:
            await _frame(send, data)

        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await out(
            b"" if self.query.plain else form.before + form.header(self.query.id, self.query.columns) + form.line_end
        )
        end: KsqlError | None = None
        rows = _Rows(self.query, form)
        try:
            async for row in rows:
                await out(form.between + row + form.line_end)
            end = self.backend.problem()
        except KsqlError as e:
            end = e
        finally:
            rows.stop()
        if end is not None and not self.query.limit_reached:
            await out(form.between + form.failure(end) + form.line_end)
        elif (last := form.end(self.query)) is not None:
            await out(form.between + last + form.line_end)
        await send({"type": "http.response.body", "body": form.after, "more_body": False})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class _Rows:
    """The rows of a query as JSON, brought from a thread that may wait for them to the event loop that may not."""

    def __init__(self, query: PushQuery, form: Form) -> None:
        self._query = query
        self._form = form
        self._loop = asyncio.get_running_loop()
        self._rows: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self._space = threading.Semaphore(AHEAD)
        self._stopped = False
        self._ended = False
        self._failure: KsqlError | None = None
        threading.Thread(target=self._read, name=f"rows of {query.id}", daemon=True).start()

    def _read(self) -> None:
        try:
            for row in self._query.rows():
                if self._stopped:
                    return
                if row is not None:
                    data = row.encode() if self._query.plain else self._form.row(row)
                    if not data:
                        continue  # of a form that does not show it
                    self._space.acquire()
                    self._rows.append(data)
                    self._wake()
        except KsqlError as e:
            self._failure = e
        except Exception as e:
            _log.exception("query %s failed", self._query.id)
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
