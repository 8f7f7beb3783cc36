"""Asks for the login of every request, and ends those that last when it does not hold any more."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging

from starlette.types import ASGIApp, Receive, Scope, Send

from ksqlpy.access import OPEN, Principal
from ksqlpy.audit import AUDIT
from ksqlpy.errors import KsqlError
from ksqlpy.runtime.audited import note
from ksqlpy.server.auth.login import Login, tried
from ksqlpy.server.auth.session import Limited, Session
from ksqlpy.server.errors import error_response, unforeseen
from ksqlpy.server.workers import Workers

__all__ = ["Access", "Auth", "access_of", "principal_of"]

_log = logging.getLogger("ksqlpy.server")

_KEY = "ksqlpy.access"

LOOK = 1.0
"""Seconds between two looks at whether those who are served would still be let in."""
GRACE = 3.0
"""Seconds that a request gets to say that it ends."""
UNREAD = 2**20
"""Bytes of a body that are taken, and dropped, ahead of a refusal; the connection of a longer one is closed."""
UNREAD_TIME = 5.0
"""Seconds in which they must come."""


class Access:
    """Who sends a request, and an event when he would not be let in any more."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.ended = asyncio.Event()
        self._task = asyncio.current_task()

    @property
    def principal(self) -> Principal:
        """Who it is."""
        return self.session.principal

    def end(self) -> None:
        """It does not hold any more: who serves the request has some seconds to say so, then is cancelled."""
        self.ended.set()
        asyncio.get_running_loop().call_later(GRACE, self._cut)

    def over(self) -> None:
        """The request is served."""
        self._task = None

    def _cut(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def problem(self) -> KsqlError | None:
        """What a client hears whose access has ended; None while it holds."""
        if not self.ended.is_set():
            return None
        return KsqlError("login-ended", "the login does not hold any more", hint="log in again", error_code=40100)


def access_of(scope: Scope) -> Access | None:
    """The access that a request has; None ahead of :class:`Auth`."""
    found: Access | None = scope.get(_KEY)
    return found


def principal_of(scope: Scope) -> Principal:
    """Who sends a request."""
    access = access_of(scope)
    return OPEN if access is None else access.principal


class Auth:
    """Lets requests through with their :class:`Access` in the scope; answers the others with 400, 401 and 429."""

    def __init__(self, app: ASGIApp, login: Login) -> None:
        self.app = app
        self._login = login
        self._served: set[Access] = set()
        self._notes = Workers(1, "notes")
        self._watch: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets the request through, or answers it; an ASGI application."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        try:
            session = await self._login.enter(scope)
        except KsqlError as e:
            await self._refuse(e, scope, receive, send)
            return
        except Exception as e:  # not let in by mistake
            _log.exception("a login failed")
            await self._refuse(unforeseen(e), scope, receive, send)
            return
        access = scope[_KEY] = Access(session)
        if self._watch is None:
            # For no request: it goes on when this one is answered.
            self._watch = asyncio.create_task(self._look(), context=_of_nobody())
        self._served.add(access)
        try:
            await self.app(scope, receive, send)
        finally:
            access.over()
            self._served.discard(access)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK)
            try:
                for access in [a for a in self._served if not self._login.holds(a.session)]:
                    self._served.discard(access)
                    access.end()
                self._login.look()
                tokens = self._login.tokens
                if tokens is not None and tokens.unnoted:
                    await self._notes.run(tokens.note)
            except Exception:
                _log.exception("logins cannot be looked at")

    async def _refuse(self, problem: KsqlError, scope: Scope, receive: Receive, send: Send) -> None:
        note("LOGIN", error=problem, refused=problem.error_code < 50000, **tried(scope))
        response = error_response(problem)
        if response.status_code == 401:
            for challenge in self._login.challenges:
                response.headers.append("WWW-Authenticate", challenge)
        if isinstance(problem, Limited):
            response.headers["Retry-After"] = str(problem.seconds)
        if scope["type"] == "http":
            await _drop(receive)
            await response(scope, receive, send)
        elif "websocket.http.response" in scope.get("extensions", {}):
            await receive()
            start = {"type": "websocket.http.response.start", "status": response.status_code}
            await send({**start, "headers": response.raw_headers})
            await send({"type": "websocket.http.response.body", "body": response.body})
        else:
            await send({"type": "websocket.close"})  # ahead of an acceptance: the client gets 403


def _of_nobody() -> contextvars.Context:
    """A context without a request, with the same audit log."""
    context = contextvars.Context()
    context.run(AUDIT.set, AUDIT.get())
    return context


async def _drop(receive: Receive) -> None:
    """Takes a short body, so that the connection can be used again, and keeps nothing."""
    size = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(UNREAD_TIME):
            while size < UNREAD:
                message = await receive()
                size += len(message.get("body", b""))
                if not message.get("more_body"):
                    return
