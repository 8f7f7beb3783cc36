"""POST /inserts-stream: rows that a client sends one after the other, and what became of them.

The answer begins while rows still come: over HTTP/2, and over HTTP/1.1, where ksqlDB refuses them. Rows are taken in
batches, by a thread; the brokers' answers make the lines of ours. Rows that are on their way are limited, and nothing
is read of a client beyond that. Its answers need no limit: they are numbers from here to there until they are sent.
Source of the rules: ksqlDB manual, "Run push and pull queries", part "Inserting rows into an existing stream".
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field
from starlette.types import Receive, Scope, Send

from ksqlpy.errors import ConfigProblem, EngineProblem, KsqlError
from ksqlpy.server.auth import Access, access_of
from ksqlpy.server.backend import Backend, InsertStream, begin
from ksqlpy.server.bodies import MAX_BODY, REST, TOO_SLOW, disconnected
from ksqlpy.server.errors import error_response, unforeseen
from ksqlpy.server.queries import PATIENCE
from ksqlpy.server.wire import DELIMITED, JSON, Body, encode, parse_body

__all__ = ["Inserts", "RowsTaken", "router"]

router = APIRouter()

_log = logging.getLogger("ksqlpy.server")

AHEAD = 2**20
"""Bytes of rows that are read before those ahead of them are taken."""

ACKS = 1_000
"""Lines of the answer that are sent at once."""

AGAIN = 0.02
"""Seconds after which rows are tried again for which there was no room."""

ENDING = 2.0
"""Seconds for which rows behind a bad one are read and forgotten, so that the client reads why."""


class Inserts(Body):
    """The first line of a body; each other line is a row."""

    example = '{"target": "RIDES"}'

    target: str
    properties: dict[str, Any] | None = None
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,100}$")] | None = None
    """The client's name for the stream, under which it goes on later: an extension."""
    seq: Annotated[int, Field(strict=True, ge=0, lt=2**62)] | None = None
    """With an id, the number of the first row; those that are there already are not written again."""


@router.post("/inserts-stream")
async def inserts_stream(request: Request) -> Response:
    """Inserts a row for each line of the body, which follow one that names the stream or table.

    Each row gets a line: that it is with the brokers, or why not, which is the last one. With JSON one array of them.
    With an id the first line tells how many rows are there, and each row is written once, over all connections.
    """
    lines = _Lines(request.receive)
    try:
        backend, media_type = await begin(request, (DELIMITED, JSON))
        body = parse_body(await lines.first(), Inserts)
        if body.seq is not None and body.id is None:
            raise ConfigProblem("bad-request", "key 'seq' of the request body needs key 'id'")
        stream = await backend.call(backend.engine.insert_rows, body.target, body.properties or {}, body.id, body.seq)
    except KsqlError as e:
        return _Refused(e, lines)
    return RowsTaken(backend, stream, lines, media_type, body.id)


class _Lines:
    """The lines of a body as they come; the last one need not end."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._parts: list[bytes] = []  # of the line that has not ended
        self._size = 0
        self._found: list[bytes] = []
        self.over = False
        self.left = False
        """Whether the client has left before the end."""

    @property
    def done(self) -> bool:
        """Whether no more lines come."""
        return self.over and not self._found

    async def first(self) -> bytes:
        """The first line that is not blank. Raises ConfigProblem where it does not come."""
        try:
            async with asyncio.timeout(REST):
                while not self._found and not self.over:
                    self._found = await self.more()
        except TimeoutError:
            raise TOO_SLOW from None
        return self._found.pop(0) if self._found else b""

    async def more(self) -> list[bytes]:
        """Some more lines, none where none have ended, or no more come. Raises ConfigProblem ``request-too-large``."""
        if self._found:
            found, self._found = self._found, []
            return found
        message = await self._receive()
        if message["type"] != "http.request":
            self.over = self.left = True
            return []
        data = message.get("body", b"")
        self.over = not message.get("more_body", False)
        *ended, rest = data.split(b"\n")
        if ended:
            ended[0] = b"".join((*self._parts, ended[0]))
            self._parts, self._size = [], 0
        self._parts.append(rest)
        self._size += len(rest)
        if self._size > MAX_BODY:
            raise ConfigProblem("request-too-large", f"a line has more than {MAX_BODY // 2**20} MiB", error_code=41300)
        if self.over:
            ended.append(b"".join(self._parts))
            self._parts = []
        return [line for line in ended if line and not line.isspace()]

    async def forget(self) -> None:
        """Takes what else comes, and keeps nothing."""
        while not self.over:
            with contextlib.suppress(KsqlError):
                await self.more()

    async def leaving(self) -> None:
        """Waits until the client leaves, behind the end of its rows."""
        if not self.left:
            await disconnected(self._receive)


class _Refused(Response):
    """The answer to a request whose first line is wrong; it must not overtake what the client still sends."""

    def __init__(self, error: KsqlError, lines: _Lines) -> None:
        super().__init__()
        self._error = error
        self._lines = lines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers; an ASGI application."""
        reading = asyncio.create_task(self._lines.forget())  # also while the answer is sent
        await asyncio.wait({reading}, timeout=ENDING)
        try:
            await error_response(self._error)(scope, receive, send)
        finally:
            reading.cancel()


class RowsTaken(Response):
    """The answer: a line, or an element, for each row. The stream of rows ends with it in any way."""

    def __init__(
        self, backend: Backend, stream: InsertStream, lines: _Lines, media_type: str, id: str | None = None
    ) -> None:
        super().__init__(media_type=media_type)
        self._id = id
        self._first = stream.acked
        del self.headers["content-length"]
        self._backend = backend
        self._stream = stream
        self._lines = lines
        self._array = media_type == JSON
        self._loop = asyncio.get_running_loop()
        self._rows: list[bytes] = []  # that were read, and not taken
        self._size = 0
        self._read_all = self._written_all = False
        self._problem: KsqlError | None = None  # of what comes behind the rows
        self._changed = asyncio.Event()  # of what the answer depends on
        self._may_write = asyncio.Event()
        self._may_read = asyncio.Event()
        self._come = 0  # counts what was read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Takes the rows and answers; an ASGI application."""
        self._stream.tell = self._told
        self._reading = asyncio.create_task(self._read())
        leaving = asyncio.create_task(self._wait_for_end())
        writing = asyncio.create_task(self._write())
        answering = asyncio.create_task(self._answer(send))
        ending = asyncio.create_task(self._end_with_access(access_of(scope)))
        try:
            with self._backend.streaming(self):
                await asyncio.wait({leaving, answering}, return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                answering.result()
        except TimeoutError:
            _log.warning("a client that inserts rows takes no answers and is dropped")
        finally:
            tasks = self._reading, leaving, writing, answering, ending
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.shield(asyncio.create_task(self._backend.call(self._stream.close)))

    def close(self) -> None:
        """The server stops: no more rows are taken, and the client learns which are there."""
        problem = EngineProblem("server-stopping", "the server is shutting down", error_code=50303)
        with contextlib.suppress(RuntimeError):  # the loop is gone
            self._loop.call_soon_threadsafe(self._end, problem)

    def _told(self) -> None:
        """Something became known of the rows; called by any thread."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._notice)

    def _notice(self) -> None:
        self._changed.set()
        self._may_write.set()

    def _end(self, problem: KsqlError) -> None:
        self._stream.refuse(problem)
        self._notice()

    async def _end_with_access(self, access: Access | None) -> None:
        """Takes no more rows of a client that would not be let in any more, which learns why."""
        if access is not None:
            await access.ended.wait()
            if (problem := access.problem()) is not None:
                self._end(problem)

    async def _read(self) -> None:
        """Reads rows."""
        try:
            while not self._lines.done:
                self._come += 1
                rows = await self._lines.more()
                if self._written_all:  # behind one that was refused
                    continue
                self._rows += rows
                self._size += sum(map(len, rows))
                if rows:
                    self._may_write.set()
                while self._size >= AHEAD:
                    self._may_read.clear()
                    await self._may_read.wait()
        except KsqlError as e:
            self._problem = e
        self._read_all = True
        self._may_write.set()

    async def _wait_for_end(self) -> None:
        """Waits until the client has left."""
        await self._reading
        await self._lines.leaving()

    async def _write(self) -> None:
        """Has rows taken by a thread, some at a time."""
        stream = self._stream
        try:
            while not stream.ended:
                self._may_write.clear()
                if self._rows and stream.has_room:
                    some = self._rows[: stream.most]
                    taken = await self._backend.call(stream.write, some)
                    self._size -= sum(map(len, some[:taken]))
                    del self._rows[:taken]
                    self._may_read.set()
                    self._changed.set()
                    if not taken and not stream.ended:  # others have the room
                        await asyncio.sleep(AGAIN)
                    continue
                if self._read_all and not self._rows:
                    if self._problem is not None:
                        stream.refuse(self._problem)
                    break
                await self._may_write.wait()
        except Exception as e:
            _log.exception("rows could not be inserted")
            stream.refuse(unforeseen(e))
        self._rows, self._size = [], 0
        self._may_read.set()
        self._written_all = True
        self._changed.set()

    async def _answer(self, send: Send) -> None:
        stream, told = self._stream, self._first
        end = b"\n" if not self._array else b""
        between = b"\n" if not self._array else b",\n"
        ahead = b""  # of the next line
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if self._array:
            await self._out(send, b"[")
        if self._id is not None:
            await self._out(send, encode({"status": "ok", "id": self._id, "rows": stream.standing}) + end)
            ahead = between if self._array else b""
        while True:
            self._changed.clear()
            # In this order: what is found out first holds when the next is.
            over, problem = self._written_all, stream.failure
            acked = stream.acked
            if told < acked:
                upto = min(acked, told + ACKS)
                lines = between.join([b'{"status":"ok","seq":%d}' % n for n in range(told, upto)])
                told = upto
                await self._out(send, ahead + lines + end)
                ahead = between if self._array else b""
                continue
            if problem is not None:
                said = {"status": "error", "seq": told, "error_code": problem.error_code, "message": problem.summary()}
                await self._out(send, ahead + encode(said) + end)
                break
            if over and acked == stream.taken:
                break
            await self._changed.wait()
        # Behind a row that was refused the client may still send, and would not read why.
        await asyncio.wait({self._reading}, timeout=ENDING if not self._read_all else 0)
        await send({"type": "http.response.body", "body": b"]\n" if self._array else b"", "more_body": False})

    async def _out(self, send: Send, data: bytes) -> None:
        """Sends some of the answer. Raises TimeoutError where the client neither takes it nor sends rows."""
        sending = asyncio.create_task(_piece(send, data))
        try:
            while not sending.done():
                come = self._come
                await asyncio.wait({sending}, timeout=PATIENCE)
                if not sending.done() and come == self._come:
                    raise TimeoutError
            sending.result()
        finally:
            sending.cancel()


async def _piece(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})
