"""The principal of a request's scope is who asks, at every endpoint; nothing is asked of an engine without it."""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import threading
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from ksqlpy.access import ASKS, EXEMPT, Principal, asking
from ksqlpy.errors import KsqlError
from ksqlpy.logs.kept import Lines
from ksqlpy.request import QUERY
from ksqlpy.server.app import ROUTERS, create_app
from ksqlpy.server.asks import ACCESS, PRINCIPAL, asked_by
from ksqlpy.server.backend import Engine
from tests.access.engine import EARLIEST, AccessEngine, somebody

WHO: Mapping[str, Principal | None] = {
    "": None,
    "root": somebody("admin", name="root"),
    "op": somebody("operator", name="op"),
    "ann": somebody("payments"),
    "exempt": EXEMPT,
}


class Login:
    """Stands for a login: whom the header names is the principal."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        who = dict(scope["headers"]).get(b"x-who", b"").decode()
        await self._app({**scope, **({PRINCIPAL: WHO[who]} if who else {})}, receive, send)


@pytest.fixture
def engine() -> AccessEngine:
    engine = AccessEngine(reading=True)
    seams: Any = engine
    seams.brokers.problem = lambda: None
    return engine


def ask(engine: AccessEngine, who: str, path: str, body: object = None, **headers: str) -> httpx.Response:
    async def one() -> httpx.Response:
        transport = httpx.ASGITransport(Login(create_app(engine)))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            method = "GET" if body is None else "POST"
            return await client.request(method, path, json=body, headers={"X-Who": who, **headers})

    return asyncio.run(one())


def told(answer: httpx.Response) -> Any:
    error = answer.json()
    return (answer.status_code, error["error_code"], error["ksqlpy"]["message"])


def test_the_principal_is_found_where_the_login_leaves_it() -> None:
    ann = WHO["ann"]
    assert asked_by({PRINCIPAL: ann}) == asked_by({ACCESS: SimpleNamespace(principal=ann)}) == ann
    assert asked_by({ACCESS: SimpleNamespace(principal=EXEMPT)}) == EXEMPT
    assert asked_by({}) is None


STATEMENTS, NOTHING, SEEN = "asks by the table of statements", "tells of nothing", "tells of what one sees"

ENDPOINTS = {
    "/": NOTHING,
    "/info": NOTHING,
    "/healthcheck": SEEN,
    "/is_valid_property/{name:text}": NOTHING,
    **dict.fromkeys(("/live", "/chc/live", "/ready", "/chc/ready"), NOTHING),
    "/metrics": "needs OPERATE on all",
    "/ksql": STATEMENTS,
    "/query-stream": STATEMENTS,
    "/query": STATEMENTS,
    "/close-query": "closes one's own",
    "/inserts-stream": "needs INSERT on its target",
    "/acknowledge": "of one's own, needs INSERT on its target",
    "/status": "needs OPERATE on all",
    "/status/{kind}/{entity:text}/{action}": SEEN,
    "/clusterStatus": "needs OPERATE on all",
    "/v1/metadata": NOTHING,
    "/v1/metadata/id": NOTHING,
    "/deadletters": "tells of topics that one may read",
    "/deadletters/summary": "tells of topics that one may read",
    "/deadletters/replay": "needs INSERT on the topics",
    "/check": "asks by the table of statements, and does nothing",
    "/complete": SEEN,
    "/figures": SEEN,
    "/figures/history": SEEN,
    "/graph": SEEN,
    "/queries/{query:text}/log": "needs OPERATE on what the query writes",
    "/whoami": "tells one's own",
    **dict.fromkeys(("/plan", "/plan/apply"), STATEMENTS),
    "/samples": "needs CREATE and INSERT on all",
    **dict.fromkeys(("/logins", "/audit"), "needs the role admin"),
    **dict.fromkeys(("/ui", "/ui/{path:text}"), NOTHING),
    "/ksql/terminate": "needs ADMIN",
    "/ws/query": STATEMENTS,
    "/openapi.json": NOTHING,
}
"""How each one keeps to the rights of who asks."""

CALLS = {
    **dict.fromkeys(("execute", "query", "look_up"), STATEMENTS),
    "health": SEEN,
    "close_query": "closes one's own",
    "metrics": "needs OPERATE on all",
    "host_status": "needs OPERATE on all",
    "terminate": "needs ADMIN",
    **dict.fromkeys(("dead_letters", "count_letters"), "tells of topics that one may read"),
    "python": "runs functions of a plan, which needs ADMIN",
    "replay_letters": "needs INSERT on the topics",
    "insert_rows": "needs INSERT on its target",
    "acknowledge": "of one's own, needs INSERT on its target",
    "commands": SEEN,
    "editing": SEEN,
    "require": "asks",
    **dict.fromkeys(("config", "info", "wait_for", "fatal", "start", "stop", "cancel", "cut_short"), NOTHING),
}
"""What the server asks of an engine, likewise."""


def test_every_endpoint_and_every_call_has_an_answer() -> None:
    assert {
        route.path for router in ROUTERS for route in router.routes if isinstance(route, Route | WebSocketRoute)
    } == set(ENDPOINTS)
    assert {n for n in vars(Engine) if not n.startswith("_")} == set(CALLS)


LIMIT = "SELECT * FROM {} EMIT CHANGES LIMIT 0;"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/ksql", {"ksql": "DESCRIBE hush_in;"}),
        ("/ksql", {"ksql": "SHOW STREAMS; INSERT INTO hush_in VALUES (1, 2);"}),
        ("/query-stream", {"sql": LIMIT.format("hush_in"), "properties": EARLIEST}),
        ("/query-stream", {"sql": "PRINT 'hush-in' LIMIT 0;"}),
        ("/query", {"ksql": LIMIT.format("hush_in")}),
    ],
)
def test_every_endpoint_asks_for_whom_it_works(path: str, body: dict[str, Any], engine: AccessEngine) -> None:
    refused = ask(engine, "ann", path, body)
    assert told(refused)[:2] == (403, 40300)
    assert told(refused)[2].startswith("ann has no right")
    assert ask(engine, "exempt", path, body).status_code == 403
    for who in ("root", ""):
        assert ask(engine, who, path, body).status_code == 200


def test_a_refusal_has_the_answers_of_the_statements_before(engine: AccessEngine) -> None:
    error = ask(engine, "ann", "/ksql", {"ksql": "SHOW TYPES; DESCRIBE hush_in;"}).json()
    assert (error["@type"], error["statementText"]) == ("statement_error", "DESCRIBE hush_in;")
    assert error["entities"] == []  # all are checked ahead of the first one
    assert error["ksqlpy"]["code"] == "missing-right" and error["ksqlpy"]["line"] == 1


def test_one_request_is_not_done_for_another(engine: AccessEngine) -> None:
    shown = {
        who: [s["name"] for s in ask(engine, who, "/ksql", {"ksql": "SHOW STREAMS;"}).json()[0]["streams"]]
        for who in ("root", "ann", "exempt", "")
    }
    assert shown["exempt"] == [] and shown["ann"] == ["PAY_IN", "PAY_MIX", "PAY_OUT"]
    assert shown["root"] == shown[""] == sorted(["HUSH_IN", "HUSH_OUT", "HUSH_MIX", *shown["ann"]])
    assert ASKS.get() is None


def test_health_tells_of_queries_that_one_may_see(engine: AccessEngine) -> None:
    for name in ("PAY_Q", "HUSH_Q"):
        engine.catalog_service.catalog = engine.catalog.with_blocked("query", name, f"{name} is odd")
    engine.catalog_service.left_out = ("an entry of HUSH_Q",)
    listed = {}
    for who in ("", "root", "ann", "exempt"):
        answer = ask(engine, who, "/healthcheck")
        listed[who] = [q["id"] for q in answer.json()["details"]["queries"]["notRunning"]]
        assert ("HUSH" in answer.text) == (who in ("", "root"))
    assert listed == {"": ["HUSH_Q", "PAY_Q"], "root": ["HUSH_Q", "PAY_Q"], "ann": ["PAY_Q"], "exempt": []}


def test_metrics_are_for_those_who_operate_all(engine: AccessEngine) -> None:
    for who, status in (("ann", 403), ("exempt", 403), ("op", 200), ("root", 200), ("", 200)):
        assert ask(engine, who, "/metrics").status_code == status


def test_commands_and_servers_are_for_those_who_operate_all(engine: AccessEngine) -> None:
    seams: Any = engine
    seams.host_status = lambda: {}
    for path in ("/status", "/clusterStatus"):
        for who, status in (("ann", 403), ("exempt", 403), ("op", 200), ("root", 200), ("", 200)):
            assert ask(engine, who, path).status_code == status


def test_the_log_of_a_query_is_for_those_who_operate_it(engine: AccessEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ksqlpy.server.graph.KEPT", lines := Lines())
    logger = logging.Logger("ksqlpy.spark")
    logger.addHandler(lines)
    told = contextvars.copy_context()
    told.run(QUERY.set, "PAY_Q")
    told.run(logger.warning, "tried again")
    found = {
        who: [ask(engine, who, f"/queries/{query}/log").status_code for query in ("PAY_Q", "HUSH_Q", "NONE_Q")]
        for who in ("ann", "exempt", "op", "root", "")
    }
    assert found["ann"] == [200, 404, 404] and found["exempt"] == [404] * 3
    assert found["op"] == found["root"] == found[""] == [200, 200, 404]
    engine.execute("REVOKE OPERATE ON ALL LIKE 'pay%' FROM payments;")
    assert ask(engine, "ann", "/queries/PAY_Q/log").status_code == 403
    [line] = ask(engine, "op", "/queries/PAY_Q/log").json()["lines"]
    assert (line["level"], line["logger"], line["message"]) == ("WARN", "ksqlpy.spark", "tried again")
    assert ask(engine, "op", "/queries/HUSH_Q/log").json()["lines"] == []


def test_a_query_with_the_id_of_another_has_a_log_of_its_own(
    engine: AccessEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ksqlpy.server.graph.KEPT", lines := Lines())
    monkeypatch.setattr("ksqlpy.runtime.catalog_service.KEPT", lines)
    logger = logging.Logger("ksqlpy.spark")
    logger.addHandler(lines)
    told = contextvars.copy_context()
    told.run(QUERY.set, "HUSH_Q")
    told.run(logger.warning, "\x1b[31mhush\u202e\n\0\ud800")
    [line] = ask(engine, "op", "/queries/HUSH_Q/log").json()["lines"]
    assert line["message"].startswith("\x1b[31mhush\u202e\n\0"), "it is text: who shows it sees to its characters"
    engine.execute("DROP STREAM hush_out;")
    assert ask(engine, "op", "/queries/HUSH_Q/log").status_code == 404
    engine.execute("CREATE STREAM pay_again WITH (QUERY_ID='hush_q') AS SELECT * FROM pay_in;", EARLIEST)
    for who in ("ann", "op"):
        assert ask(engine, who, "/queries/HUSH_Q/log").json()["lines"] == []


def test_the_status_of_a_command_is_for_those_who_see_what_it_made(engine: AccessEngine) -> None:
    done = {"status": "SUCCESS", "message": "Stream created", "queryId": None}
    for command in ("stream/`PAY_IN`/create", "stream/`HUSH_IN`/create", "terminate/HUSH_Q/execute"):
        engine.commands.note(command, done)
    found = {
        who: [ask(engine, who, f"/status/{path}").status_code for path in (
            "stream/pay_in/create", "stream/`HUSH_IN`/create", "stream/hush_in/create", "terminate/HUSH_Q/execute",
        )]
        for who in ("ann", "exempt", "op", "root", "")
    }  # fmt: skip
    assert found["ann"] == [200, 404, 404, 404] and found["exempt"] == [404] * 4
    assert found["op"] == found["root"] == found[""] == [200] * 4


def test_the_service_is_ended_by_an_admin(engine: AccessEngine) -> None:
    seams: Any = engine
    seams.terminate = lambda topics: []
    for who, status in (("ann", 403), ("exempt", 403), ("op", 403), ("root", 200), ("", 200)):
        assert ask(engine, who, "/ksql/terminate", {}).status_code == status


def test_rows_are_sent_by_whom_the_target_lets_insert(engine: AccessEngine) -> None:
    streams: Any = engine._inserts
    streams._sender = lambda most: SimpleNamespace()
    engine.brokers.kafka.record_limits = dict.fromkeys  # type: ignore[method-assign]  # no broker: no limits
    for who, target, message in (
        ("ann", "hush_in", "ann has no right INSERT on HUSH_IN"),
        ("ann", "no_such", "ann has no right INSERT on NO_SUCH"),
        ("op", "pay_in", "op has no right INSERT on PAY_IN"),
    ):
        with asking(WHO[who]), pytest.raises(KsqlError) as e:
            engine.insert_rows(target)
        assert (e.value.error_code, e.value.message) == (40300, message)
    with asking(WHO["ann"]):
        stream = engine.insert_rows("pay_in")
    stream.write([])
    assert not stream.ended
    engine.execute("DROP ROLE payments;")
    stream.write([])
    assert stream.failure is not None and stream.failure.message == "ann has no right INSERT on PAY_IN"


def test_a_push_query_is_closed_by_whom_it_belongs_to(engine: AccessEngine) -> None:
    for who, status in (("exempt", 400), ("ann", 200)):
        opened = engine_query(engine, "ann")
        assert ask(engine, who, "/close-query", {"queryId": opened}).status_code == status
    assert "there is no push query" in ask(engine, "exempt", "/close-query", {"queryId": opened}).json()["message"]


def engine_query(engine: AccessEngine, who: str) -> str:
    with asking(WHO[who]):
        query: Any = engine.query("SELECT * FROM pay_in EMIT CHANGES;", EARLIEST)
    return str(query.id)


@pytest.mark.parametrize("end", ["DROP ROLE payments;", "REVOKE ALL ON ALL LIKE 'pay%' FROM payments;"])
def test_a_pull_query_that_runs_ends_when_the_right_goes(end: str, engine: AccessEngine) -> None:
    """It waits for records that never come."""
    with asking(WHO["ann"]):
        query = engine.query("SELECT * FROM pay_in;")
        mine = engine.query("SELECT * FROM pay_in WHERE id = 3;")
    with asking(WHO["root"]):
        other: Any = engine.query("SELECT * FROM hush_in;")
    mine.close()
    failed: list[KsqlError] = []

    def read() -> None:
        try:
            list(query.rows())
        except KsqlError as e:
            failed.append(e)

    reading = threading.Thread(target=read)
    reading.start()
    engine.execute(end)
    reading.join(30)
    assert [(e.error_code, e.message) for e in failed] == [(40300, "ann has no right SELECT on PAY_IN")]
    assert other.ended_for is None
    other.close()
    assert not engine.reads._pulls


def test_a_stream_ends_with_the_refusal_when_the_right_goes(engine: AccessEngine) -> None:
    async def read() -> list[Any]:
        rows: list[Any] = []
        body = json.dumps({"sql": "SELECT * FROM pay_in EMIT CHANGES;"}).encode()
        sent, left = [{"type": "http.request", "body": body, "more_body": False}], asyncio.Event()

        async def receive() -> Any:
            if sent:
                return sent.pop()
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            rows.extend(line for line in message.get("body", b"").split(b"\n") if line)
            if len(rows) == 1:
                await asyncio.get_running_loop().run_in_executor(None, engine.execute, "DROP ROLE payments;")

        headers = [(b"x-who", b"ann"), (b"host", b"localhost")]
        scope = {"type": "http", "method": "POST", "path": "/query-stream", "headers": headers, "http_version": "1.1"}
        more = {"query_string": b"", "raw_path": b"/query-stream", "server": ("localhost", 80), "scheme": "http"}
        async with asyncio.timeout(30):
            await Login(create_app(engine))({**scope, **more}, receive, send)
        return [json.loads(row) for row in rows]

    header, end = asyncio.run(read())
    assert "queryId" in header
    assert (end["error_code"], end["ksqlpy"]["message"]) == (40300, "ann has no right SELECT on PAY_IN")
