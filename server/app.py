"""The application: all endpoints before one engine."""

from __future__ import annotations

from fastapi import FastAPI, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from ksqlpy import __version__
from ksqlpy.server import info, queries, statements
from ksqlpy.server.backend import Backend, Engine
from ksqlpy.server.errors import add_handlers, unforeseen

__all__ = ["create_app"]


def create_app(engine: Engine | Backend) -> FastAPI:
    """The REST API over an engine that has been started.

    With a :class:`Backend` instead of an engine the API also works while the engine starts and stops: what cannot be
    served then gets 503 and ksqlDB's code for it.
    """
    app = FastAPI(title="ksqlpy", version=__version__, openapi_url=None, redirect_slashes=False)
    app.state.backend = engine if isinstance(engine, Backend) else Backend(engine)
    for family in (info, statements, queries):
        app.include_router(family.router)
    add_handlers(app)
    app.add_middleware(_CatchAll)
    return app


class _CatchAll:
    """Turns failures that nobody planned for into error entities, if the answer has not begun."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False

        async def watched(message: object) -> None:
            nonlocal begun
            begun = True
            await send(message)  # type: ignore[arg-type]

        try:
            await self.app(scope, receive, watched)
        except Exception as e:
            if begun:
                raise
            from ksqlpy.server.errors import _response

            await _response(unforeseen(e))(scope, receive, send)
