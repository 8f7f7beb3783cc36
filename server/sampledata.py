"""POST /samples: sample data with one click, on a server that offers some, as that of ``ksqlpy dev``."""

from __future__ import annotations

from fastapi import APIRouter, Request

from ksqlpy.access import EVERYTHING, Need, Right
from ksqlpy.errors import KsqlError, shown
from ksqlpy.server.backend import Backend, begin
from ksqlpy.server.wire import JSON, KSQL_V1, Body, JsonResponse, read_body

__all__ = ["Wanted", "offered", "router"]

router = APIRouter()

NEEDS = (Right.CREATE, Right.INSERT)
"""The server itself fills the topics, so these are asked for on all, and not only what the statements need."""


class Wanted(Body):
    """Body of POST /samples: the name of a sample, as GET /whoami lists them."""

    example = '{"name": "taxi"}'

    name: str


@router.post("/samples")
async def load(request: Request) -> JsonResponse:
    """Makes streams and queries of a sample for who asks, and fills them; what is there already stays as it is."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    body = await read_body(request, Wanted)
    for right in NEEDS:
        backend.engine.require(Need(right, EVERYTHING))
    make = backend.samples.get(body.name)
    if make is None:
        raise KsqlError(
            "unknown-sample",
            f"this server has no sample data of the name {shown(body.name)}",
            hint="a server of ksqlpy dev has taxi",
            error_code=40400,
        )
    return JsonResponse({"done": await backend.call(make)}, media_type=media_type)


def offered(backend: Backend) -> list[str]:
    """The samples that who asks may have loaded."""
    return sorted(backend.samples) if backend.samples and backend.engine.editing.may_on_all(*NEEDS) else []
