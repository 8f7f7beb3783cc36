"""What the server says about itself.

Source of the rules: ksqlDB manual, "Introspect server status (/info)", "Get the health" (/healthcheck),
"Test a property" (/is_valid_property).
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from ksqlpy.config import PROPERTIES
from ksqlpy.server.backend import begin
from ksqlpy.server.paths import PAGE, TEXT, wants_page
from ksqlpy.server.wire import JSON, KSQL_V1, JsonResponse

__all__ = ["router"]

router = APIRouter()


@router.get("/")
async def root(request: Request) -> Response:
    """Sends browsers to the web page, and all others to /info."""
    if wants_page(request.scope):  # the address is relative, since a proxy may have put a path ahead of it
        return RedirectResponse(f"{PAGE[1:]}/", 307, {"Vary": "Accept"})
    return RedirectResponse("/info", 307, {"Vary": "Accept"})


@router.get("/info")
async def info(request: Request) -> JsonResponse:
    """Version and names; 503 while the server starts or stops."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    # Not in a thread: nothing in it waits, and a thread would wait for all others that are at work in Python.
    return JsonResponse({"KsqlServerInfo": backend.engine.info()}, media_type=media_type)


@router.get("/healthcheck")
async def healthcheck(request: Request) -> JsonResponse:
    """Health of the parts; 503 when one of them is unhealthy."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    health = await backend.ask(backend.engine.health)
    return JsonResponse(health, 200 if health.get("isHealthy") else 503, media_type=media_type)


@router.get(f"/is_valid_property/{{name:{TEXT}}}")
async def is_valid_property(request: Request, name: str) -> JsonResponse:
    """``true`` for a property that a statement may set; 400 with the reason for any other."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    # The name is asked about, not a value, so it is tried with one that is right.
    known = PROPERTIES.get(name) or PROPERTIES.get(name.removeprefix("ksql.streams.").removeprefix("consumer."))
    backend.engine.config.for_statement({name: known.default if known else ""})
    return JsonResponse(True, media_type=media_type)
