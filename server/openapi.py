"""GET /openapi.json: the REST API for tools, as OpenAPI 3.1, made from the routes and from the table below.

A test compares the table with the routes, and runs its examples. WebSockets have no place in OpenAPI.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.routing import BaseRoute

from ksqlpy.server.acknowledgements import Acknowledged
from ksqlpy.server.deadletters import Counted, Replayed, Wanted
from ksqlpy.server.editors import Check, Complete
from ksqlpy.server.figures import NDJSON
from ksqlpy.server.inserts import Inserts
from ksqlpy.server.page import HTML
from ksqlpy.server.plans import Apply, Project
from ksqlpy.server.queries import CloseQuery, OldQuery, Query
from ksqlpy.server.sampledata import Wanted as Sample
from ksqlpy.server.statements import Statements
from ksqlpy.server.termination import Terminate
from ksqlpy.server.wire import DELIMITED, JSON, KSQL_V1, PROTOBUF, Body, JsonResponse, negotiate
from ksqlpy.version import __version__

__all__ = ["ENDPOINTS", "Endpoint", "described", "router"]

router = APIRouter()

Schema = dict[str, Any]


@dataclass(frozen=True)
class Endpoint:
    """What a route does not say of itself.

    ``summary``: in some words; ``answers``: media types, the usual one first; ``schema``: of the answer as JSON;
    ``body``: of the request, ``sent``: an example of it, ``place``, ``query``: one of the parameters in the
    path, and behind it; ``status``: of the answer to the example. ``always``: it also answers while the server starts
    or stops; ``missing``: what it is asked for may not be there.
    """

    summary: str
    schema: Schema
    answers: tuple[str, ...] = (KSQL_V1, JSON)
    body: type[Body] | None = None
    sent: str | None = None
    place: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    status: int = 200
    always: bool = False
    missing: bool = False


_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "integer"}
_MAP: Schema = {"type": "object"}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_ENTITY: Schema = {
    "type": "object",
    "description": "The answer to a statement; its other keys follow from @type.",
    "properties": {"@type": _TEXT, "statementText": _TEXT, "warnings": _list(_object(message=_TEXT))},
    "required": ["@type"],
}
_STATUS = _object(status=_TEXT, message=_TEXT, queryId=_TEXT_OR_NULL)
_CLUSTER = _object(scope=_object(path=_list(_TEXT), clusters=_MAP), id=_TEXT)
_ACK: Schema = {
    "type": "object",
    "properties": {
        "status": {"enum": ["ok", "error"]},
        "seq": {**_NUMBER, "description": "The number of the row, from 0 on."},
        "id": {**_TEXT, "description": "Of the stream; stands in the first element only, with rows."},
        "rows": {**_NUMBER, "description": "How many rows of the id are there."},
        "error_code": _NUMBER,
        "message": _TEXT,
    },
    "required": ["status"],
}
_COLUMNS = _object(queryId=_TEXT, columnNames=_list(_TEXT), columnTypes=_list(_TEXT))
_ROWS: Schema = {
    "type": "array",
    "description": "A header, then an array for each row; ksqlDB's first form has an object for each.",
    "prefixItems": [{"anyOf": [_COLUMNS, _object(header=_MAP)]}],
    "items": {"type": ["array", "object"]},
}
_OLD_ROWS: Schema = {"type": "array", "prefixItems": [_object(header=_MAP)], "items": _MAP}
_HEALTH = _object(isHealthy={"type": "boolean"}, details=_MAP, serverState=_TEXT)
_INFO = _object(KsqlServerInfo=_object(version=_TEXT, kafkaClusterId=_TEXT, ksqlServiceId=_TEXT, serverStatus=_TEXT))

_DIAGNOSTIC = _object(
    start=_NUMBER,
    end=_NUMBER,
    line=_NUMBER,
    column=_NUMBER,
    severity={"enum": ["error", "warning"]},
    code=_TEXT,
    message=_TEXT,
    hint=_TEXT_OR_NULL,
)
_PART = _object(start=_NUMBER, end=_NUMBER, kind=_TEXT, name=_TEXT, checked={"type": "boolean"})
_OPTION: Schema = {
    **_object(label=_TEXT, type=_TEXT, detail=_TEXT_OR_NULL),
    "description": "apply, where there is one, is written in the place of label.",
}
_SIGNATURE: Schema = {
    **_object(name=_TEXT, signatures=_list(_MAP), parameters=_list(_TEXT), active=_NUMBER, doc=_TEXT),
    "type": ["object", "null"],
}
_GRAPH = _object(version=_TEXT, nodes=_list(_object(id=_TEXT, kind=_TEXT, name=_TEXT)), edges=_list(_MAP))

ENDPOINTS: dict[tuple[str, str], Endpoint] = {
    ("GET", "/"): Endpoint("Go to the web page, or to /info", {}, (), status=307, always=True),
    ("GET", "/info"): Endpoint("Version and names of the server", _INFO),
    ("GET", "/healthcheck"): Endpoint("Health of the parts", _HEALTH),
    ("GET", "/is_valid_property/{name}"): Endpoint(
        "Whether a statement may set a property", {"type": "boolean"}, place={"name": "auto.offset.reset"}
    ),
    ("GET", "/chc/live"): Endpoint("Whether there is a server", _MAP, (JSON,), always=True),
    ("GET", "/chc/ready"): Endpoint("Whether statements are taken", _MAP, (JSON,)),
    ("GET", "/live"): Endpoint("Whether there is a server that can go on", _MAP, (JSON,), always=True),
    ("GET", "/ready"): Endpoint("Whether statements are taken", _MAP, (JSON,)),
    ("GET", "/metrics"): Endpoint("What goes on, for Prometheus", _TEXT, (CONTENT_TYPE_PLAIN_0_0_4,), always=True),
    ("GET", "/openapi.json"): Endpoint("This text", _MAP, (JSON,), always=True),
    ("POST", "/ksql"): Endpoint(
        "Run statements", _list(_ENTITY), body=Statements, sent='{"ksql": "SHOW STREAMS;", "streamsProperties": {}}'
    ),
    ("POST", "/query-stream"): Endpoint(
        "Run a pull or push query, or PRINT",
        _ROWS,
        (DELIMITED, JSON, KSQL_V1, PROTOBUF),
        Query,
        '{"sql": "SELECT * FROM rides EMIT CHANGES LIMIT 1;", "properties": {"auto.offset.reset": "earliest"}}',
    ),
    ("POST", "/query"): Endpoint(
        "Run a query, in ksqlDB's first form",
        _OLD_ROWS,
        (KSQL_V1, JSON, PROTOBUF),
        OldQuery,
        '{"ksql": "SELECT * FROM rides EMIT CHANGES LIMIT 1;", "streamsProperties": {"auto.offset.reset": "earliest"}}',
    ),
    ("POST", "/close-query"): Endpoint(
        "End a push query", _MAP, body=CloseQuery, sent='{"queryId": "transient_RIDES_1"}', status=400
    ),
    ("POST", "/inserts-stream"): Endpoint(
        "Insert rows as they come",
        _list(_ACK),
        (DELIMITED, JSON),
        Inserts,
        '{"target": "rides"}\n{"city": "Oslo", "id": 1}\n{"city": "Bergen", "id": 2}\n',
    ),
    ("POST", "/acknowledge"): Endpoint(
        "Acknowledge rows of a subscription, and write rows with that",
        _object(acknowledged=_NUMBER),
        body=Acknowledged,
        sent='{"queryId": "SCALABLE_PUSH_QUERY_RIDES_1", "rows": 1}',
        status=400,
    ),
    ("GET", "/status"): Endpoint("States of all commands", _object(commandStatuses=_MAP)),
    ("GET", "/status/{kind}/{entity}/{action}"): Endpoint(
        "What became of a command",
        _STATUS,
        place={"kind": "stream", "entity": "`RIDES`", "action": "create"},
        missing=True,
    ),
    ("GET", "/clusterStatus"): Endpoint("Servers of the service and their stores", _object(clusterStatus=_MAP)),
    ("GET", "/v1/metadata"): Endpoint("Version and ids", _object(version=_TEXT, clusterId=_CLUSTER)),
    ("GET", "/v1/metadata/id"): Endpoint("Ids of the cluster", _CLUSTER),
    ("POST", "/deadletters"): Endpoint(
        "What queries could not read", _object(deadLetters=_list(_MAP)), body=Wanted, sent='{"limit": 10}'
    ),
    ("POST", "/deadletters/summary"): Endpoint(
        "How many there are, by reason", _object(total=_NUMBER, groups=_list(_MAP)), body=Counted, sent="{}"
    ),
    ("POST", "/deadletters/replay"): Endpoint(
        "Write records of dead letters again",
        _object(records=_NUMBER, before=_NUMBER, returned=_NUMBER, cut=_NUMBER),
        body=Replayed,
        sent='{"dryRun": true}',
    ),
    ("POST", "/check"): Endpoint(
        "What is wrong with a text, which is not run",
        _object(diagnostics=_list(_DIAGNOSTIC), statements=_list(_PART)),
        body=Check,
        sent='{"text": "SELECT * FROM rides EMIT CHANGES;"}',
    ),
    ("POST", "/complete"): Endpoint(
        "What can stand at a place of a text",
        _object(**{"from": _NUMBER}, options=_list(_OPTION), signature=_SIGNATURE),
        body=Complete,
        sent='{"text": "SELECT ROUND(fa FROM rides EMIT CHANGES;", "offset": 15}',
    ),
    ("GET", "/graph"): Endpoint("What there is, and what flows between it", _GRAPH),
    ("GET", "/queries/{query}/log"): Endpoint(
        "The last log lines of a query",
        _object(query=_TEXT, lines=_list(_object(time=_NUMBER, level=_TEXT, logger=_TEXT, message=_TEXT))),
        place={"query": "CTAS_N_1"},
        status=404,
        missing=True,
    ),
    ("GET", "/whoami"): Endpoint(
        "Who asks, and what he may do",
        _object(name=_TEXT, login=_TEXT, roles=_list(_TEXT), grants=_list(_MAP), may=_MAP),
    ),
    ("GET", "/logins"): Endpoint("Who may log in", _object(users=_list(_MAP), tokens=_list(_MAP))),
    ("GET", "/audit"): Endpoint(
        "The last lines of the audit log", _object(place=_TEXT_OR_NULL, entries=_list(_MAP)), query={"limit": "10"}
    ),
    ("GET", "/figures"): Endpoint("What goes on, once a second", _TEXT, (NDJSON,), query={"limit": "1"}),
    ("GET", "/figures/history"): Endpoint(
        "The last hour",
        _object(query=_TEXT, times=_list(_NUMBER), series=_MAP),
        query={"query": "server"},
        missing=True,
    ),
    ("POST", "/plan"): Endpoint(
        "What a project would change",
        _object(
            id=_TEXT,
            changes=_list(_object(action=_TEXT, kind=_TEXT, name=_TEXT, diff=_list(_TEXT))),
            notInProject=_list(_MAP),
            statements=_list(_TEXT),
            losesState={"type": "boolean"},
            errors=_list(_MAP),
            summary=_TEXT,
        ),
        body=Project,
        sent='{"files": [{"name": "rides.sql", "sql": "-- CREATE STREAM rides …;"}]}',
    ),
    ("POST", "/plan/apply"): Endpoint(
        "Change it",
        _object(done=_list(_TEXT)),
        body=Apply,
        sent='{"id": "…", "files": [{"name": "rides.sql", "sql": "-- CREATE STREAM rides …;"}]}',
        status=409,
    ),
    ("POST", "/samples"): Endpoint(
        "Load sample data, on a server of ksqlpy dev",
        _object(done=_TEXT),
        body=Sample,
        sent='{"name": "taxi"}',
        status=404,
        missing=True,
    ),
    ("GET", "/ui"): Endpoint("Go to the web page", {}, (), status=307, always=True),
    ("GET", "/ui/{path}"): Endpoint(
        "A file of the web page", _TEXT, (HTML,), place={"path": "flow"}, always=True, missing=True
    ),
    ("POST", "/ksql/terminate"): Endpoint(
        "End the service", _list(_ENTITY), body=Terminate, sent='{"deleteTopicList": ["FOO", "bar.*"]}'
    ),
}
"""Extension point: what is to be told of a route. The order is that of the page."""

_ERROR: Schema = {
    "type": "object",
    "properties": {
        "@type": {"enum": ["generic_error", "statement_error"]},
        "error_code": {**_NUMBER, "description": "Its first three digits are the status."},
        "message": _TEXT,
        "stackTrace": _list(_TEXT),
        "statementText": _TEXT,
        "entities": {**_list(_ENTITY), "description": "The answers of the statements before the one that failed."},
        "ksqlpy": {**_MAP, "description": "Code, message, place in the text, and hint."},
    },
    "required": ["@type", "error_code", "message"],
}
_FAILS = {
    "400": "The request, a statement or a property is wrong; or the URL holds a token.",
    "401": "The server wants a login, or does not know this one.",
    "403": "Who asks has not the right, or a page of another origin asks.",
    "404": "There is no such thing.",
    "406": "The endpoint has no answer in a media type that is accepted.",
    "408": "The body does not come.",
    "409": "What was shown is not so any more, or another client has gone on.",
    "413": "The body, or a line of it, is too large.",
    "421": "The server does not go by the name in the header Host.",
    "429": "There were too many attempts to log in, or too much is waited for already.",
    "500": "Something failed.",
    "503": "The server starts, stops, or lacks something for now.",
}
_GATE = {"400", "401", "403", "421", "429", "500"}
"""What stands before all endpoints answers these."""

_LOGINS = {
    "basic": {"type": "http", "scheme": "basic", "description": "Name and password, where users are configured."},
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API token, or a JWT of an identity provider."},
}


def described(routes: Iterable[BaseRoute]) -> dict[str, Any]:
    """The text, as JSON has it, of the routes of routers."""
    paths: dict[str, Any] = {}
    for route in routes:
        if isinstance(route, APIRoute):
            path = re.sub(r":\w+}", "}", route.path)
            for method in sorted((route.methods or set()) - {"HEAD"}):  # as GET, without the content
                told = ENDPOINTS.get((method, path), Endpoint(route.name.replace("_", " "), {}))
                paths.setdefault(path, {})[method.lower()] = _operation(route, method, told)
    return {
        "openapi": "3.1.0",
        "info": {"title": "ksqlpy", "version": __version__, "description": "The REST API of ksqlDB, by ksqlpy."},
        "security": [{}, *({name: []} for name in _LOGINS)],
        "paths": paths,
        "components": {"schemas": {"Error": _ERROR}, "securitySchemes": _LOGINS},
    }


def _operation(route: APIRoute, method: str, told: Endpoint) -> dict[str, Any]:
    responses: dict[str, Any] = {"200" if told.status != 307 else "307": _answer(told)}
    fails = set(_GATE)
    fails |= {"406"} if told.answers else set()
    fails |= {"503"} if not told.always else set()
    fails |= {"404"} if told.missing else set()
    fails |= {"409"} if told.body is Acknowledged else set()
    fails |= {"408", "413"} if told.body is not None else set()
    fails |= {str(told.status)} if told.status >= 400 else set()
    responses |= {code: _failure(code) for code in sorted(fails)}
    found: dict[str, Any] = {
        "summary": told.summary,
        "description": re.sub(r"\s+", " ", route.description).replace("``", "`"),
        "operationId": f"{method.lower()}_{re.sub('[^A-Za-z0-9]+', '_', route.path).strip('_') or 'root'}",
        "responses": responses,
    }
    if told.place or told.query:
        found["parameters"] = [
            {"name": name, "in": place, "required": place == "path", "schema": _TEXT, "example": example}
            for place, given in (("path", told.place), ("query", told.query))
            for name, example in given.items()
        ]
    if told.body is not None:
        lines = told.body in (Inserts, Acknowledged)
        schema = told.body.model_json_schema(by_alias=True)
        content = {"schema": schema, "example": told.sent if lines else orjson.loads(told.sent or "{}")}
        found["requestBody"] = {
            "required": told.body is not Terminate,
            "description": "The first of some lines of JSON; each other line is a row." if lines else "",
            "content": {(DELIMITED if lines else JSON): content},
        }
    return found


def _answer(told: Endpoint) -> dict[str, Any]:
    if not told.answers:
        return {"description": told.summary}
    lines = {"schema": {**_TEXT, "description": "A line of JSON for each element of the other forms."}}
    whole = {"schema": told.schema}
    return {"description": told.summary, "content": {m: lines if m == DELIMITED else whole for m in told.answers}}


def _failure(code: str) -> dict[str, Any]:
    return {"description": _FAILS[code], "content": {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}}


@router.get("/openapi.json")
async def openapi(request: Request) -> JsonResponse:
    """This text: OpenAPI 3.1."""
    negotiate(request, (JSON,))
    return JsonResponse(described(request.app.state.endpoints))
