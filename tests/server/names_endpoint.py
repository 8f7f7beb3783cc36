"""One more endpoint, as someone would add it: ``GET /names`` names the service and the Kafka cluster."""

from __future__ import annotations

from fastapi import APIRouter, Request

from ksqlpy.server.backend import begin
from ksqlpy.server.wire import JSON, KSQL_V1, JsonResponse

router = APIRouter()


@router.get("/names")
async def names(request: Request) -> JsonResponse:
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    info = await backend.call(backend.engine.info)
    return JsonResponse({"service": info["ksqlServiceId"], "kafka": info["kafkaClusterId"]}, media_type=media_type)
