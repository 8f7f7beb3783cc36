"""What there is, what queries have logged, and who asks: what a page draws, and what it hides."""

from __future__ import annotations

from fastapi import APIRouter, Request

from ksqlpy.access import EVERYTHING, Need, Right
from ksqlpy.errors import KsqlError, cut
from ksqlpy.logs import KEPT
from ksqlpy.server.auth import is_configured
from ksqlpy.server.backend import begin
from ksqlpy.server.paths import TEXT
from ksqlpy.server.sampledata import offered
from ksqlpy.server.wire import JSON, KSQL_V1, JsonResponse

__all__ = ["router"]

router = APIRouter()


@router.get("/graph")
async def graph(request: Request) -> JsonResponse:
    """Topics, sources and queries that one sees, and what flows between them."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    return JsonResponse(await backend.call(backend.engine.editing.graph), media_type=media_type)


@router.get(f"/queries/{{query:{TEXT}}}/log")
async def log(request: Request, query: str) -> JsonResponse:
    """The last log lines of a query that one may operate."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    editing = backend.engine.editing
    if not editing.has_query(query):
        said = f"there is no query {cut(query)}"
        raise KsqlError("unknown-query", said, hint="SHOW QUERIES lists them", error_code=40400)
    if not editing.may_operate(query):
        backend.engine.require(Need(Right.OPERATE, EVERYTHING))
    lines = [
        {"time": int(line.time * 1000), "level": line.level, "logger": line.logger, "message": line.message}
        for line in KEPT.of(query)
    ]
    return JsonResponse({"query": query, "lines": lines}, media_type=media_type)


@router.get("/whoami")
async def whoami(request: Request) -> JsonResponse:
    """Name, roles and rights of who asks."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    told = backend.engine.editing.whoami()  # it waits for nothing
    of_server = {"loginRequired": is_configured(backend.engine.config), "samples": offered(backend)}
    return JsonResponse({**told, **of_server}, media_type=media_type)
