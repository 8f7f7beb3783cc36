"""Dead letters over REST, which ksqlDB has not: what queries could not read, and its replay."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from pydantic import Field

from ksqlpy.server.backend import Engine, begin
from ksqlpy.server.wire import JSON, KSQL_V1, Body, JsonResponse, parse_body

__all__ = ["Counted", "Replayed", "Wanted", "router"]

router = APIRouter()


class Counted(Body):
    """Which letters: of a ``query``, about records of a ``topic``, those in ``lettersTopic``."""

    example = '{"query": "CTAS_N_1"}'

    query: str | None = None
    topic: str | None = None
    letters_topic: str | None = Field(None, alias="lettersTopic")


class Wanted(Counted):
    """Which letters, as above; with a ``reason``, of an ``id``, and of these the last ``limit``."""

    example = '{"query": "CTAS_N_1", "limit": 10}'

    reason: str | None = None
    id: str | None = None
    limit: int | None = Field(None, ge=1)


class Replayed(Body):
    """Which letters, as above; ``letters``: as they were shown, mended; ``again``, ``dryRun``: as of the command."""

    example = '{"query": "CTAS_N_1", "dryRun": true}'

    query: str | None = None
    topic: str | None = None
    letters_topic: str | None = Field(None, alias="lettersTopic")
    letters: list[dict[str, Any]] | None = None
    again: bool = False
    dry_run: bool = Field(False, alias="dryRun")


@router.post("/deadletters")
async def dead_letters(request: Request) -> JsonResponse:
    """Letters whose topics one may read."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    body = parse_body(await request.body() or b"{}", Wanted)
    found = await backend.call_for(request, _chosen, backend.engine, body)
    return JsonResponse({"deadLetters": found}, media_type=media_type)


def _chosen(engine: Engine, body: Wanted) -> list[dict[str, Any]]:
    if body.reason is None and body.id is None:
        return engine.dead_letters(body.query, body.topic, body.letters_topic, body.limit)
    found = engine.dead_letters(body.query, body.topic, body.letters_topic, None)
    chosen = [one for one in found if body.reason in (None, one["reason"]) and body.id in (None, one["id"])]
    return chosen if body.limit is None else chosen[-body.limit :]


@router.post("/deadletters/summary")
async def summary(request: Request) -> JsonResponse:
    """How many letters there are whose topics one may read, by query, topic and reason."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    body = parse_body(await request.body() or b"{}", Counted)
    told = await backend.call_for(request, backend.engine.count_letters, body.query, body.topic, body.letters_topic)
    return JsonResponse(told, media_type=media_type)


@router.post("/deadletters/replay")
async def replay(request: Request) -> JsonResponse:
    """Writes the records of letters to where they came from, each once."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    body = parse_body(await request.body() or b"{}", Replayed)
    told = await backend.call_for(
        request,
        backend.engine.replay_letters,
        body.query,
        body.topic,
        body.letters_topic,
        body.letters,
        body.again,
        body.dry_run,
    )
    return JsonResponse(told, media_type=media_type)
