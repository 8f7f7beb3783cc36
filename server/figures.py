"""GET /figures: what goes on, once a second, and the last hour of it."""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

from ksqlpy.access import EVERYTHING, Need, Right
from ksqlpy.errors import ConfigProblem, KsqlError, cut, shown
from ksqlpy.server.auth import Access, access_of
from ksqlpy.server.backend import Backend, begin
from ksqlpy.server.bodies import disconnected
from ksqlpy.server.errors import error_body
from ksqlpy.server.queries import PATIENCE
from ksqlpy.server.response_encoders import frame
from ksqlpy.server.sampler import SERVER, Sampler
from ksqlpy.server.samples import Seen
from ksqlpy.server.wire import JSON, KSQL_V1, JsonResponse, encode

__all__ = ["NDJSON", "router"]

router = APIRouter()

NDJSON = "application/x-ndjson"


@router.get("/figures")
async def figures(request: Request, limit: str = "") -> Response:
    """A line of JSON a second: first all figures of what one sees, then those that have changed."""
    backend, _ = await begin(request, (NDJSON,))
    if limit and not re.fullmatch(r"[1-9][0-9]{0,8}", limit):
        raise ConfigProblem("bad-request", f"limit is a number of lines, not {shown(limit)}", hint="as in ?limit=1")
    return FigureStream(backend, _sampler(request), int(limit) if limit else None)


@router.get("/figures/history")
async def history(request: Request, query: str = SERVER) -> JsonResponse:
    """The last hour of a query that one sees, or of the server."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    engine, sampler = backend.engine, _sampler(request)
    if query == SERVER:
        engine.require(Need(Right.OPERATE, EVERYTHING))
    elif not engine.editing.has_query(query):
        said = f"there are no figures of a query {cut(query)}"
        raise KsqlError("unknown-query", said, hint="SHOW QUERIES lists them", error_code=40400)
    times, series = await backend.call(sampler.history.of, query)
    return JsonResponse({"query": query, "times": times, "series": series}, media_type=media_type)


def _sampler(request: Request) -> Sampler:
    sampler: Sampler = request.app.state.sampler
    return sampler


class FigureStream(Response):
    """The lines, a frame each. A client that does not take them gets fewer, and is dropped after a while."""

    media_type = NDJSON

    def __init__(self, backend: Backend, sampler: Sampler, limit: int | None = None) -> None:
        """``limit``: so many lines, then it ends."""
        super().__init__(media_type=NDJSON, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._backend, self._sampler, self._limit = backend, sampler, limit
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._access: Access | None = None

    def close(self) -> None:
        """Ends the stream, from any thread."""
        self._loop.call_soon_threadsafe(self._ended.set)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the stream; an ASGI application."""
        self._access = access_of(scope)
        writer = asyncio.create_task(self._write(send))
        gone = asyncio.create_task(disconnected(receive))
        ending = asyncio.create_task(self._until_ended())
        self._sampler.watch()
        try:
            with self._backend.streaming(self):
                if self._backend.problem() is not None:  # it stops since the request was let in
                    self._ended.set()
                await asyncio.wait({writer, gone, ending}, return_when=asyncio.FIRST_COMPLETED)
            if writer.done():
                with contextlib.suppress(TimeoutError):  # a client that takes nothing is not told
                    writer.result()
            elif ending.done():
                await self._end(writer, send)
        finally:
            self._sampler.leave()
            for task in (writer, gone, ending):
                task.cancel()

    async def _until_ended(self) -> None:
        """Until the server stops, or the login does not hold any more."""
        ended = [asyncio.ensure_future(self._ended.wait())]
        if self._access is not None:
            ended.append(asyncio.ensure_future(self._access.ended.wait()))
        try:
            await asyncio.wait(ended, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in ended:
                one.cancel()

    async def _end(self, writer: asyncio.Task[Any], send: Send) -> None:
        """Says why the stream ends: the login does not hold any more, or the server stops."""
        writer.cancel()
        await asyncio.wait([writer])
        problem = (self._access.problem() if self._access is not None else None) or self._backend.problem()
        line = b"" if problem is None else encode({"error": error_body(problem)}) + b"\n"
        await send({"type": "http.response.body", "body": line, "more_body": False})

    async def _write(self, send: Send) -> None:
        editing, number = self._backend.engine.editing, 0
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        before: Seen | None = None
        sent = 0
        while self._limit is None or sent < self._limit:
            taken = await self._sampler.after(number)
            who = Seen(editing.sees(), editing.sees_topics(), editing.operates())
            line = self._sampler.line(who, editing.version(), full=taken != number + 1 or who != before)
            number, before = taken, who
            async with asyncio.timeout(PATIENCE):
                await frame(send, line)
            sent += 1
        await send({"type": "http.response.body", "body": b"", "more_body": False})
