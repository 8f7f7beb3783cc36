"""POST /ksql: everything but queries.

Source of the rules: ksqlDB manual, "Execute a statement (/ksql)".
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from pydantic import Field

from ksqlpy.errors import ConfigProblem
from ksqlpy.server.backend import begin
from ksqlpy.server.wire import JSON, KSQL_V1, Body, JsonResponse, read_body

__all__ = ["Statements", "router", "text_variables"]

router = APIRouter()


class Statements(Body):
    """Body of a request. ``sequence_number``: the command that must have been carried out before."""

    example = '{"ksql": "SHOW STREAMS;"}'

    sql: str = Field(alias="ksql")
    properties: dict[str, Any] | None = Field(None, alias="streamsProperties")
    request_properties: dict[str, Any] | None = Field(None, alias="requestProperties")
    variables: dict[str, Any] | None = Field(None, alias="sessionVariables")
    sequence_number: int | None = Field(None, alias="commandSequenceNumber")


def text_variables(variables: dict[str, Any] | None) -> dict[str, str]:
    """The session variables of a request; raises ConfigProblem ``bad-variable`` for a value that is not a string."""
    for name, value in (variables or {}).items():
        if not isinstance(value, str):
            raise ConfigProblem(
                "bad-variable",
                f"the value of session variable {name} is not a string",
                hint='put the value in quotes: "…"',
            )
    return dict(variables or {})


@router.post("/ksql")
async def execute(request: Request) -> JsonResponse:
    """Runs statements; answers with a list of entities, one for each statement that yields one.

    A statement that fails ends the request with its error, which lists the entities before it.
    """
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    body = await read_body(request, Statements)
    variables = text_variables(body.variables)
    if body.sequence_number is not None:
        await backend.call(backend.engine.wait_for, body.sequence_number)
    entities = await backend.call_for(request, backend.engine.execute, body.sql, body.properties or {}, variables)
    return JsonResponse(entities, media_type=media_type)
