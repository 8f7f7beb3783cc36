"""Lookups over REST on the shortest way: ahead of routes and of the models of bodies, in the event loop.

What is not a lookup that can be answered at once goes on to the routes, as it came.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ksqlpy.catalog import Column
from ksqlpy.errors import KsqlError
from ksqlpy.server.errors import error_response
from ksqlpy.server.response_encoders import Encoder, Exact, Lines, Objects, frame
from ksqlpy.server.wire import BEHIND_HEADER, DELIMITED, JSON, KSQL_V1, ROWS_HEADER, behind_text

__all__ = ["Found", "LookUp", "Lookups"]

Found = tuple[Sequence[Column], Sequence[Sequence[Any]], Mapping[str, int | None]]
LookUp = Callable[[str, Mapping[str, Any]], Found | None]
"""Columns and rows of a lookup with its properties, and how far queries are behind; None for all that may take time.

Raises KsqlError.
"""

_ENCODERS: Mapping[str, Mapping[bytes, Callable[[], Encoder]]] = {
    "/query-stream": {
        b"": lambda: Lines(DELIMITED),
        b"*/*": lambda: Lines(DELIMITED),
        DELIMITED.encode(): lambda: Lines(DELIMITED),
        JSON.encode(): lambda: Encoder(JSON),
    },
    "/query": {
        b"": lambda: Objects(KSQL_V1),
        b"*/*": lambda: Objects(KSQL_V1),
        KSQL_V1.encode(): lambda: Objects(KSQL_V1),
        JSON.encode(): lambda: Objects(JSON),
    },
}
"""Of each path: the encoder by the header Accept, where that is one plain name."""

_EMPTY = ("sessionVariables", "requestProperties")
"""What else may stand in a body, with nothing in it."""

_NAMES = {"/query-stream": ("sql", "properties"), "/query": ("ksql", "streamsProperties")}


class Lookups:
    """Answers lookups; hands on all other requests. Stands behind what reads bodies whole."""

    def __init__(
        self, app: ASGIApp, look_up: LookUp, problem: Callable[[], KsqlError | None], ids: str = "pull_"
    ) -> None:
        self.app = app
        self._look_up = look_up
        self._problem = problem
        self._ids = ids
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers the request, or hands it on; an ASGI application."""
        path = scope.get("path", "")
        if path not in _ENCODERS or scope.get("method") != "POST" or self._problem() is not None:
            await self.app(scope, receive, send)
            return
        accepted = [value for name, value in scope["headers"] if name == b"accept"]
        encoder = _ENCODERS[path].get(accepted[0].strip() if accepted else b"") if len(accepted) < 2 else None
        if path == "/query-stream" and accepted == [DELIMITED.encode()] and _wants_numbers(scope):
            encoder = partial(Exact, DELIMITED, columnar=False)
        message = await receive()
        asked = _asked(message, path) if encoder is not None else None
        found = None
        if asked is not None:
            try:
                found = self._look_up(*asked)
            except KsqlError as e:
                await error_response(e)(scope, receive, send)
                return
        if encoder is None or found is None:
            await self._hand_on(message, scope, receive, send)
            return
        columns, rows, behind = found
        written = encoder()
        header = written.header(f"{self._ids}{next(self._numbers)}", columns)
        pieces = [written.before + header + written.line_end]
        pieces += [written.framed(written.row(row)) for row in rows]
        pieces += [written.after] if written.after else []
        length = b"%d" % sum(map(len, pieces))
        headers = [(b"content-type", written.media_type.encode()), (b"content-length", length)]
        if behind:
            headers.append((BEHIND_HEADER.encode(), behind_text(behind).encode()))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        # Clients that take rows one by one take each frame for one; ours does not.
        if written.line_end and not isinstance(written, Exact):
            for piece in pieces:
                await frame(send, piece)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        await send({"type": "http.response.body", "body": b"".join(pieces), "more_body": False})

    async def _hand_on(self, message: Message, scope: Scope, receive: Receive, send: Send) -> None:
        first = [message]

        async def again() -> Message:
            return first.pop() if first else await receive()

        await self.app(scope, again, send)


def _wants_numbers(scope: Scope) -> bool:
    return any(name == ROWS_HEADER.encode() and b"numbers" in value for name, value in scope["headers"])


def _asked(message: Message, path: str) -> tuple[str, Mapping[str, Any]] | None:
    """Text and properties of a request whose body is in order and names no variables."""
    if message.get("more_body"):
        return None
    try:
        body = orjson.loads(message.get("body", b""))
    except orjson.JSONDecodeError:
        return None
    if not isinstance(body, dict):
        return None
    sql_name, properties_name = _NAMES[path]
    sql, properties = body.pop(sql_name, None), body.pop(properties_name, None)
    if not isinstance(sql, str) or not (properties is None or isinstance(properties, dict)):
        return None
    if any(name not in _EMPTY or value not in (None, {}) for name, value in body.items()):
        return None  # what it means, or why it is wrong, the models say
    return sql, properties or {}
