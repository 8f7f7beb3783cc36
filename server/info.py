"""What the server says about itself.

Source of the rules: ksqlDB manual, "Introspect server status (/info)", "Get the health" (/healthcheck),
"Test a property" (/is_valid_property).
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from ksqlpy.errors import ConfigProblem
from ksqlpy.server.backend import State, backend_of
from ksqlpy.server.wire import JSON, KSQL_V1, JsonResponse, negotiate

__all__ = ["router"]

router = APIRouter()


@router.get("/")
async def root() -> Response:
    """Sends people to /info."""
    return RedirectResponse("/info", 307)


@router.get("/info")
async def info(request: Request) -> JsonResponse:
    """Version and names; 503 while the server starts or stops."""
    backend = backend_of(request)
    backend.check()
    media_type = negotiate(request, (KSQL_V1, JSON))
    return JsonResponse({"KsqlServerInfo": await backend.call(backend.engine.info)}, media_type=media_type)


@router.get("/healthcheck")
async def healthcheck(request: Request) -> JsonResponse:
    """Health of the parts; 503 when one of them is ill."""
    backend = backend_of(request)
    backend.check()
    media_type = negotiate(request, (KSQL_V1, JSON))
    health = await backend.call(backend.engine.health)
    return JsonResponse(health, 200 if health.get("isHealthy") else 503, media_type=media_type)


@router.get("/is_valid_property/{name}")
async def is_valid_property(request: Request, name: str) -> JsonResponse:
    """``true`` for a property that a statement may set; 400 with the reason for any other."""
    backend = backend_of(request)
    backend.check()
    try:
        backend.engine.config.for_statement({name: ""})
    except ConfigProblem as e:
        if e.code != "invalid-property":  # the name is asked about, not the value
            raise
    return JsonResponse(True)


@router.get("/chc/live")
async def live() -> JsonResponse:
    """Answers as long as there is a server."""
    return JsonResponse({})


@router.get("/chc/ready")
async def ready(request: Request) -> JsonResponse:
    """Answers 200 once statements are taken, 503 before and after."""
    return JsonResponse({}, 200 if backend_of(request).state is State.READY else 503)
