"""Whether the server lives and whether it is ready, for what starts it again and for what sends it requests.

``/chc/live`` and ``/chc/ready`` are ksqlDB's names of the same.
"""

from __future__ import annotations

from fastapi import APIRouter, Request

from ksqlpy.server.backend import Backend, State, backend_of
from ksqlpy.server.wire import JsonResponse

__all__ = ["is_ready", "router"]

router = APIRouter()


@router.get("/live")
@router.get("/chc/live")
async def live(request: Request) -> JsonResponse:
    """200 as long as the server answers and its engine can go on; 503 once only another process can."""
    return JsonResponse({}, 200 if backend_of(request).engine.fatal() is None else 503)


@router.get("/ready")
@router.get("/chc/ready")
async def ready(request: Request) -> JsonResponse:
    """200 while statements are taken; 503 while the engine starts or stops, and once it can do nothing any more."""
    return JsonResponse({}, 200 if is_ready(backend_of(request)) else 503)


def is_ready(backend: Backend) -> bool:
    """Whether statements are taken."""
    return backend.state is State.READY and backend.engine.fatal() is None
