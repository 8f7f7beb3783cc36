"""What became of commands, and of whom the service consists.

Source of the rules: ksqlDB manual, "Get the status of a command" (/status), "Introspect cluster status"
(/clusterStatus), and its ``ServerMetadata`` (/v1/metadata).
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from ksqlpy.access import EVERYTHING, Need, Right, Thing
from ksqlpy.errors import KsqlError, cut
from ksqlpy.server.backend import begin
from ksqlpy.server.paths import TEXT
from ksqlpy.server.wire import JSON, KSQL_V1, JsonResponse

__all__ = ["router"]

router = APIRouter()

_SOURCES = ("stream", "table", "type")
"""Kinds of commands whose entity is a stream, a table or a type."""


@router.get("/status")
async def statuses(request: Request) -> JsonResponse:
    """The state of each command, by its id, as ``currentStatus`` entities have it."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    backend.engine.require(Need(Right.OPERATE, EVERYTHING))
    return JsonResponse({"commandStatuses": backend.engine.commands.all()}, media_type=media_type)


@router.get(f"/status/{{kind}}/{{entity:{TEXT}}}/{{action}}")
async def status(request: Request, kind: str, entity: str, action: str) -> JsonResponse:
    """What became of a command; 404 for one that is not known."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))

    def sees(name: str) -> bool:
        """Whoever sees a source sees what became of it; of all else an operator does."""
        need = Need(None, Thing.source(name)) if kind.lower() in _SOURCES else Need(Right.OPERATE, EVERYTHING)
        try:
            backend.engine.require(need)
        except KsqlError:
            return False
        return True

    found = backend.engine.commands.one(kind, entity, action, sees)
    if found is None:
        said = f"there is no command {cut(f'{kind}/{entity}/{action}')}"
        raise KsqlError("unknown-command-id", said, hint="GET /status lists them", error_code=40400)
    return JsonResponse(found, media_type=media_type)


@router.get("/clusterStatus")
async def cluster_status(request: Request) -> JsonResponse:
    """By server of the service: that it is alive, which stores of which queries it has, how far these are."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    backend.engine.require(Need(Right.OPERATE, EVERYTHING))
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
