"""POST /ksql/terminate: the end of the service.

Source of the rules: ksqlDB manual, "Terminate a cluster (/ksql/terminate)".
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from pydantic import Field

from ksqlpy.access import EVERYTHING, Need, Right
from ksqlpy.server.backend import State, begin
from ksqlpy.server.wire import JSON, KSQL_V1, Body, JsonResponse, parse_body

__all__ = ["Terminate", "router"]

router = APIRouter()


class Terminate(Body):
    """Body of a request. ``topics``: names or regular expressions of topics of queries, which are deleted."""

    example = '{"deleteTopicList": ["FOO", "bar.*"]}'

    topics: list[str] | None = Field(None, alias="deleteTopicList")


@router.post("/ksql/terminate")
async def terminate(request: Request) -> JsonResponse:
    """Ends all queries, deletes their checkpoints, the command log and the topics that are listed; the server ends.

    Where that fails the server goes on, and it may be asked again.
    """
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    body = parse_body(await request.body() or b"{}", Terminate)
    backend.engine.require(Need(Right.ADMIN, EVERYTHING))
    # From now on nothing else is begun.
    backend.state = State.STOPPING
    try:
        deleted = await backend.call(backend.engine.terminate, body.topics or [])
    except BaseException:
        backend.state = State.READY
        raise
    entity = {
        "@type": "currentStatus",
        "statementText": "TERMINATE CLUSTER;",
        "warnings": [],
        "commandId": "cluster/TerminateCluster/terminate",
        "commandStatus": {"status": "SUCCESS", "message": "The service was terminated.", "queryId": None},
        "commandSequenceNumber": -1,
        "ksqlpy": {"deletedTopics": deleted},
    }
    return JsonResponse([entity], media_type=media_type)
