"""POST /acknowledge, which ksqlDB has not: a client of a subscription has done with rows."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import Field

from ksqlpy.server.backend import begin
from ksqlpy.server.wire import JSON, KSQL_V1, Body, JsonResponse, parse_body

__all__ = ["Acknowledged", "router"]

router = APIRouter()


class Acknowledged(Body):
    """The first line of a body; each other line is a row that is written into ``target`` with it."""

    example = '{"queryId": "…", "rows": 10}'

    query_id: str = Field(alias="queryId")
    rows: Annotated[int, Field(strict=True, ge=0, lt=2**62)]
    """How many rows are done, from the first one of the query on."""
    target: str | None = None


@router.post("/acknowledge")
async def acknowledge(request: Request) -> JsonResponse:
    """Notes that so many rows of a subscription are done, and writes rows, in one transaction."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    first, *lines = (await request.body()).split(b"\n")
    body = parse_body(first, Acknowledged)
    rows = [line for line in lines if line and not line.isspace()]
    await backend.call(backend.engine.acknowledge, body.query_id, body.rows, body.target, rows)
    return JsonResponse({"acknowledged": body.rows}, media_type=media_type)
