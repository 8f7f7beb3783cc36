"""What an editor asks while somebody writes: what is wrong with a text, and what can stand at a place of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from pydantic import Field

from ksqlpy.errors import cut
from ksqlpy.server.backend import Engine, begin
from ksqlpy.server.places import Places
from ksqlpy.server.statements import text_variables
from ksqlpy.server.wire import JSON, KSQL_V1, Body, JsonResponse, read_body

if TYPE_CHECKING:  # the language is loaded at the first request: readers have these endpoints, too, and need none of it
    from ksqlpy.completion.complete import Suggestion
    from ksqlpy.completion.signature import Call
    from ksqlpy.project.textcheck import Diagnostic

__all__ = ["AFTER", "Check", "Complete", "router"]

router = APIRouter()

AFTER = 20_000
"""Characters behind the place that are looked at for the sources of its statement."""


DETAIL = 200
"""Characters of a detail at most."""


class Check(Body):
    """Body of POST /check: a text, and the session in which it would be run."""

    example = '{"text": "SELECT * FROM rides EMIT CHANGES;"}'

    text: str
    properties: dict[str, Any] | None = None
    variables: dict[str, Any] | None = None


class Complete(Body):
    """Body of POST /complete. ``offset``: in UTF-16 code units; ``variables``: of the session."""

    example = '{"text": "SELECT ci FROM rides EMIT CHANGES;", "offset": 9}'

    text: str
    offset: int = Field(ge=0)
    variables: dict[str, Any] | None = None


@router.post("/check")
async def check(request: Request) -> JsonResponse:
    """Says what is wrong with a text, and where its statements are; nothing is done. Places count UTF-16 code units."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    body = await read_body(request, Check)
    variables = text_variables(body.variables)
    found = await backend.call(_checked, backend.engine, body.text, body.properties or {}, variables)
    return JsonResponse(found, media_type=media_type)


def _checked(
    engine: Engine, text: str, properties: Mapping[str, object], variables: Mapping[str, str]
) -> dict[str, Any]:
    from ksqlpy.project.textcheck import check_text
    from ksqlpy.runtime.internal import may_read
    from ksqlpy.runtime.printing import check_print
    from ksqlpy.runtime.textsize import check_size

    check_size(text, engine.config.for_statement(properties))
    sandbox, places = engine.editing.sandbox(properties), Places(text)
    topics = {name: [1] * partitions for name, partitions in engine.editing.partitions().items()}
    readable = partial(may_read, config=engine.config)

    found = check_text(
        text,
        sandbox,
        properties,
        variables,
        lambda parsed, own: check_print(parsed, topics, own.principal, own.catalog.grants, readable=readable),
    )
    return {
        "diagnostics": [_diagnostic(d, places) for d in found.diagnostics],
        "statements": [
            {
                "start": places.units(part.span.start),
                "end": places.units(part.span.end),
                "kind": part.kind,
                "name": part.name,
                "checked": part.checked,
            }
            for part in found.parts
        ],
    }


def _diagnostic(found: Diagnostic, places: Places) -> dict[str, Any]:
    line, column = places.line(found.span.start)
    return {
        "start": places.units(found.span.start),
        "end": places.units(found.span.end),
        "line": line,
        "column": column,
        "severity": "warning" if found.waits else "error",
        "code": found.error.code,
        "message": found.error.message,
        "hint": found.error.full_hint,
    }


@router.post("/complete")
async def completed(request: Request) -> JsonResponse:
    """What can stand at a place of a text, best first, and the call of a function in which the place is."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    body = await read_body(request, Complete)
    variables = text_variables(body.variables)
    found = await backend.call(_completed, backend.engine, body.text, body.offset, variables)
    return JsonResponse(found, media_type=media_type)


def _completed(engine: Engine, text: str, offset: int, variables: Mapping[str, str]) -> dict[str, Any]:
    from ksqlpy.completion.complete import complete
    from ksqlpy.completion.signature import call_at
    from ksqlpy.runtime.textsize import check_size

    check_size(text, engine.config)
    places = Places(text)
    at = places.place(offset)
    before, after = text[:at], text[at : at + AFTER]
    names = engine.editing.names().with_variables(variables)
    found = complete(before, names, after)
    call = call_at(before, names)
    return {
        "from": places.units(at - found[0].length) if found else places.units(at),
        "options": [_option(suggestion) for suggestion in found],
        "signature": None if call is None else _signature(call),
    }


def _option(suggestion: Suggestion) -> dict[str, Any]:
    label = suggestion.label or suggestion.text
    written = {"apply": suggestion.text} if suggestion.text != label else {}
    # A type may be as long as somebody has written it, and there are many options.
    return {"label": label, "type": suggestion.kind, "detail": cut(suggestion.note, DETAIL) or None, **written}


def _signature(call: Call) -> dict[str, Any]:
    forms = call.signatures
    return {
        "name": call.function.name,
        "signatures": [{"label": form.label, "parameters": list(form.parameters)} for form in forms],
        "parameters": list(forms[0].parameters) if forms else [],
        "active": call.active,
        "doc": call.function.help,
    }
