"""The application: all endpoints before one engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from starlette.applications import Starlette

from ksqlpy import tracing
from ksqlpy.audit import Audit
from ksqlpy.config import Config
from ksqlpy.errors import KsqlError
from ksqlpy.server import (
    acknowledgements,
    administration,
    deadletters,
    editors,
    figures,
    graph,
    info,
    inserts,
    metrics,
    openapi,
    page,
    plans,
    probes,
    queries,
    sampledata,
    statements,
    status,
    termination,
    websocket,
)
from ksqlpy.server.asks import Asks
from ksqlpy.server.auth import Auth, Login
from ksqlpy.server.backend import Backend, Engine
from ksqlpy.server.bodies import Bodies
from ksqlpy.server.endpoints import endpoints_of
from ksqlpy.server.errors import Failures, add_handlers
from ksqlpy.server.gate import ORIGINS, Gate, split
from ksqlpy.server.lookups import LookUp, Lookups
from ksqlpy.server.requests import HEADER, Requests
from ksqlpy.server.sampler import Sampler
from ksqlpy.server.traced import Traced, look_up_traced
from ksqlpy.version import __version__

__all__ = ["ROUTERS", "create_app", "guarded"]

ROUTERS = [
    info.router,
    statements.router,
    queries.router,
    probes.router,
    metrics.router,
    inserts.router,
    acknowledgements.router,
    status.router,
    deadletters.router,
    editors.router,
    figures.router,
    graph.router,
    plans.router,
    administration.router,
    sampledata.router,
    termination.router,
    websocket.router,
    page.router,
    openapi.router,
]
"""Extension point: the endpoints, a router a family."""


def create_app(engine: Engine | Backend, secret: str = "") -> FastAPI:
    """The REST API over an engine that has been started.

    With a :class:`Backend` instead of an engine the API also works while the engine starts and stops: what cannot be
    served then gets 503 and ksqlDB's code for it. ``secret``: by which the server knows its readers. Who serves it
    closes ``state.audit``. Raises ConfigProblem ``audit-file``.
    """
    app = FastAPI(title="ksqlpy", version=__version__, openapi_url=None, redirect_slashes=False)
    app.state.backend = engine if isinstance(engine, Backend) else Backend(engine)
    app.state.endpoints = [route for router in ROUTERS for route in router.routes]
    for router in ROUTERS:
        app.include_router(router)
    add_handlers(app)
    backend: Backend = app.state.backend
    app.state.audit = audit = Audit.of(lambda: backend.engine.config)
    guarded(app, backend.engine.config, backend.engine.look_up, backend.problem, secret=secret, audit=audit)
    app.state.scrapes = metrics.Scrapes(backend, audit)
    app.state.page = page.Files()
    app.state.sampler = Sampler(backend, app.state.scrapes.open_requests)
    app.add_middleware(metrics.Counted, scrapes=app.state.scrapes, paths=_paths())
    return app


def _paths() -> list[str]:
    return [getattr(route, "path", "/") for router in ROUTERS for route in router.routes]


A = TypeVar("A", bound=Starlette)


def guarded(
    app: A,
    config: Config,
    look_up: LookUp,
    problem: Callable[[], KsqlError | None],
    ids: str = "pull_",
    secret: str = "",
    audit: Audit | None = None,
) -> A:
    """The application with what stands before it: ids, gate, login, whole bodies, lookups (which ``look_up`` answers).

    ``problem``: why nothing can be answered now; ``ids``: what ids of lookups begin with; ``secret``: that of readers.
    """
    # Requests come to the last one first.
    app.add_middleware(Lookups, look_up=look_up_traced(look_up, config), problem=problem, ids=ids)
    app.add_middleware(Failures)
    app.add_middleware(Asks)
    app.add_middleware(Bodies)
    app.add_middleware(Auth, login=Login.of(config, secret))
    if origins := split(config.get(ORIGINS)):  # what browsers need to know; others of them do not get past the gate
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=("GET", "POST"),
            allow_headers=("*",),
            expose_headers=(HEADER,),
            allow_private_network=True,
        )
    app.add_middleware(Gate, config=config)
    if tracing.wanted(config):
        app.add_middleware(Traced, endpoints=endpoints_of(_paths()))
    app.add_middleware(Requests, endpoints=_paths(), audit=audit)
    return app
