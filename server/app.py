"""The application: all endpoints before one engine."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

from ksqlpy import __version__
from ksqlpy.server import info, queries, statements
from ksqlpy.server.backend import Backend, Engine
from ksqlpy.server.bodies import Bodies
from ksqlpy.server.errors import Failures, add_handlers
from ksqlpy.server.gate import ORIGINS, Gate, split
from ksqlpy.server.lookups import Lookups

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
    # Requests come to the last one first.
    app.add_middleware(Lookups, backend=app.state.backend)
    app.add_middleware(Failures)
    app.add_middleware(Bodies)
    config = app.state.backend.engine.config
    if origins := split(config.get(ORIGINS)):  # what browsers need to know; others of them do not get past the gate
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=("GET", "POST"),
            allow_headers=("*",),
            allow_private_network=True,
        )
    app.add_middleware(Gate, config=config)
    return app
