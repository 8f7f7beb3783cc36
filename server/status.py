"""What became of commands, and of whom the service consists.

Source of the rules: ksqlDB manual, "Get the status of a command" (/status), "Introspect cluster status"
(/clusterStatus), and its ``ServerMetadata`` (/v1/metadata).
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from ksqlpy.errors import KsqlError, cut
from ksqlpy.server.backend import begin
from ksqlpy.server.wire import JSON, KSQL_V1, JsonResponse

__all__ = ["router"]

router = APIRouter()


@router.get("/status")
async def statuses(request: Request) -> JsonResponse:
    """The state of each command, by its id, as ``currentStatus`` entities have it."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    return JsonResponse({"commandStatuses": backend.engine.commands.all()}, media_type=media_type)


@router.get("/status/{kind}/{entity:path}/{action}")
async def status(request: Request, kind: str, entity: str, action: str) -> JsonResponse:
    """What became of a command; 404 for one that is not known."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    found = backend.engine.commands.one(kind, entity, action)
    if found is None:
        said = f"there is no command {cut(f'{kind}/{entity}/{action}')}"
        raise KsqlError("unknown-command-id", said, hint="GET /status lists them", error_code=40400)
    return JsonResponse(found, media_type=media_type)


@router.get("/clusterStatus")
async def cluster_status(request: Request) -> JsonResponse:
    """By server of the service: that it is alive, which stores of which queries it has, how far these are."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    found = await backend.call(backend.engine.host_status)
    return JsonResponse({"clusterStatus": {request.url.netloc: found}}, media_type=media_type)


@router.get("/v1/metadata")
async def metadata(request: Request) -> JsonResponse:
    """The version, and the ids of Kafka's cluster and of the service."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    info = backend.engine.info()
    return JsonResponse({"version": info["version"], "clusterId": _cluster_id(info)}, media_type=media_type)


@router.get("/v1/metadata/id")
async def metadata_id(request: Request) -> JsonResponse:
    """The ids of Kafka's cluster and of the service."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    return JsonResponse(_cluster_id(backend.engine.info()), media_type=media_type)


def _cluster_id(info: dict[str, Any]) -> dict[str, Any]:
    clusters = {"kafka-cluster": info["kafkaClusterId"], "ksql-cluster": info["ksqlServiceId"]}
    return {"scope": {"path": [], "clusters": clusters}, "id": ""}
