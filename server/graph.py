"""What there is, and who asks: what a page draws, and what it hides."""

from __future__ import annotations

from fastapi import APIRouter, Request

from ksqlpy.server.auth import is_configured
from ksqlpy.server.backend import begin
from ksqlpy.server.wire import JSON, KSQL_V1, JsonResponse

__all__ = ["router"]

router = APIRouter()


@router.get("/graph")
async def graph(request: Request) -> JsonResponse:
    """Topics, sources and queries that one sees, and what flows between them."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    return JsonResponse(await backend.call(backend.engine.editing.graph), media_type=media_type)


@router.get("/whoami")
async def whoami(request: Request) -> JsonResponse:
    """Name, roles and rights of who asks."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    told = backend.engine.editing.whoami()  # it waits for nothing
    return JsonResponse({**told, "loginRequired": is_configured(backend.engine.config)}, media_type=media_type)
