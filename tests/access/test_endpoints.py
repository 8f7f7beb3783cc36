"""Every endpoint, by object and by role, over HTTP and through a reader: nothing tells of what one may not see.

What somebody gets who asks for what is hidden from him is what he gets who asks for what is not there, word for word.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from starlette.routing import Route, WebSocketRoute

from ksqlpy.client import Connection
from ksqlpy.config import Config
from ksqlpy.deadletters import Letter
from ksqlpy.figures import Counts, EngineMetrics, QueryFigures, QueryMetrics
from ksqlpy.runtime import letterbox
from ksqlpy.server.app import ROUTERS
from ksqlpy.server.auth.users import add_user
from ksqlpy.server.run import ServerThread
from ksqlpy.shell.watcher import Watcher
from tests.access.engine import AccessEngine
from tests.access.test_matrix import CASES, NARROW, hidden
from tests.server.auth.test_vouch import Pair
from tests.server.conftest import sockets_folder  # noqa: F401  # a fixture
from tests.server.test_websocket import Talk
from tests.support.letters import lie_there
from tests.support.waiting import until

PASSWORD = "correct horse"
DELIMITED = "application/vnd.ksqlapi.delimited.v1"

Ask = tuple[str, str, Any]
"""Method, path and body, each with ``{x}`` for an object; WS in the place of a method: a WebSocket."""

TEXTS = [sql for sql, _ in CASES if "{x}" in sql]
"""All kinds of statements that name an object."""

LINES = '{{"target": "{x}_in"}}\n{{"id": 1}}\n'

FUNCTION = "CREATE FUNCTION {x}_f(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return x $$;"

PROJECT = {"files": [{"name": "a.sql", "sql": "CREATE STREAM {x}_new AS SELECT * FROM {x}_in;"}]}

ASKED: dict[str, list[Ask]] = {
    "/": [("GET", "/", None)],
    "/info": [("GET", "/info", None)],
    "/healthcheck": [("GET", "/healthcheck", None)],
    "/is_valid_property/{name:text}": [("GET", "/is_valid_property/{x}_in", None)],
    **{path: [("GET", path, None)] for path in ("/live", "/chc/live", "/ready", "/chc/ready")},
    "/metrics": [("GET", "/metrics", None)],
    "/ksql": [("POST", "/ksql", {"ksql": text}) for text in TEXTS],
    "/query-stream": [("POST", "/query-stream", {"sql": text}) for text in TEXTS],
    "/query": [("POST", "/query", {"ksql": text}) for text in TEXTS],
    "/close-query": [("POST", "/close-query", {"queryId": id}) for id in ("{x}_q", "{x}_Q", "transient_{x}_in_1")],
    "/inserts-stream": [("POST", "/inserts-stream", LINES)],
    "/acknowledge": [
        ("POST", "/acknowledge", {"queryId": "SCALABLE_PUSH_QUERY_{x}_IN_1", "rows": 1, "target": "{x}_in"}),
        ("POST", "/acknowledge", '{{"queryId": "{x}_q", "rows": 1, "target": "{x}_in"}}\n{{"id": 1}}\n'),
    ],
    "/status": [("GET", "/status", None)],
    "/status/{kind}/{entity:text}/{action}": [
        ("GET", f"/status/{of}", None)
        for of in ("stream/{x}_in/create", "stream/`{x}_IN`/create", "terminate/{x}_q/execute", "type/{x}_sort/create")
    ],
    "/clusterStatus": [("GET", "/clusterStatus", None)],
    "/v1/metadata": [("GET", "/v1/metadata", None)],
    "/v1/metadata/id": [("GET", "/v1/metadata/id", None)],
    "/ksql/terminate": [("POST", "/ksql/terminate", {"deleteTopicList": ["{x}-in"]})],
    "/ws/query": [("WS", "/ws/query?request=", {"ksql": text}) for text in TEXTS],
    "/deadletters": [
        ("POST", "/deadletters", {"query": "{x}_q"}),
        ("POST", "/deadletters", {"topic": "{x}-in"}),
        ("POST", "/deadletters", {"lettersTopic": "{x}-in"}),
    ],
    "/deadletters/summary": [
        ("POST", "/deadletters/summary", {}),
        ("POST", "/deadletters/summary", {"query": "{x}_q"}),
        ("POST", "/deadletters/summary", {"topic": "{x}-in"}),
    ],
    "/deadletters/replay": [
        ("POST", "/deadletters/replay", {"query": "{x}_q"}),
        ("POST", "/deadletters/replay", {"topic": "{x}-in"}),
    ],
    "/check": [("POST", "/check", {"text": text}) for text in TEXTS],
    "/complete": [
        ("POST", "/complete", {"text": text, "offset": len(text.format(x="hush"))})
        for text in (
            "SELECT * FROM ",
            "SELECT {x}",
            "SELECT {x}col FROM {x}_in WHERE {x}",
            "SELECT * FROM {x}_in WHERE ",
            "PRINT '",
            "DROP TYPE ",
            "TERMINATE ",
            "GRANT SELECT ON {x}_in TO ",
        )
    ],
    "/figures": [("GET", "/figures?limit=1", None)],
    "/figures/history": [("GET", f"/figures/history?query={of}", None) for of in ("{x}_q", "{x}_Q", "server")],
    "/graph": [("GET", "/graph", None)],
    "/queries/{query:text}/log": [("GET", f"/queries/{of}/log", None) for of in ("{x}_q", "{x}_Q", "{x}/log")],
    "/whoami": [("GET", "/whoami", None)],
    "/logins": [("GET", "/logins", None)],
    "/audit": [("GET", "/audit", None)],
    "/plan": [
        ("POST", "/plan", PROJECT),
        ("POST", "/plan", {**PROJECT, "prune": True}),
        ("POST", "/plan", {"files": [{"name": "a.sql", "sql": FUNCTION}]}),
        ("POST", "/plan", {"folder": "/"}),
    ],
    "/plan/apply": [("POST", "/plan/apply", {"id": "x", **PROJECT})],
    "/samples": [("POST", "/samples", {"name": "{x}_in"})],
    "/ui": [("GET", "/ui", None)],
    "/ui/{path:text}": [("GET", "/ui/", None), ("GET", "/ui/source/{x}_in", None)],
    "/openapi.json": [("GET", "/openapi.json", None)],
}


def test_every_endpoint_is_asked() -> None:
    routes = [route for router in ROUTERS for route in router.routes]
    assert {route.path for route in routes if isinstance(route, Route | WebSocketRoute)} == set(ASKED)


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("users") / "users"
    for role in NARROW:
        add_user(file, role, PASSWORD, frozenset({role}))
    return file


@pytest.fixture(scope="module", autouse=True)
def letters() -> Iterator[None]:
    """Dead letters of what some may see and others not, in each topic of letters."""
    pay = Letter("0-0", "PAY_Q", "pay-in", 0, 7, 1000, "no JSON", b"k", b"{", topic_id="T")
    hush = replace(pay, id="0-1", query="HUSH_Q", topic="hush-in")
    with pytest.MonkeyPatch.context() as patch:
        lie_there(patch, [pay, hush])
        patch.setattr(letterbox, "replay", lambda connection, letters, wanted, *, again: len(wanted))
        yield


def figures_of(query: str) -> QueryMetrics:
    counts = Counts(consumed={"hush-in": 1, "pay-in": 2}, sent={"hush-in": 1})
    return QueryMetrics(query, "HUSH_OUT", "RUNNING", 1.0, 0, 0.0, QueryFigures(counts))


def made(users: Path) -> AccessEngine:
    """An engine that asks for a login, and whose commands and servers can be asked for."""
    engine = AccessEngine()
    engine.brokers.config = Config.of({"ksqlpy.port": "0", "ksqlpy.auth.users.file": str(users)})
    seams: Any = engine
    seams._ready = True
    seams.supervisor.driver.__class__ = type("Alive", (type(engine.supervisor.driver),), {"alive": True})
    seams.reads._behind = SimpleNamespace(known=lambda source, catalog: {"PAY_Q": 1, "HUSH_Q": 2})
    seams.brokers.problem = lambda: None
    seams.brokers.cluster_id = "cluster"
    seams.metrics = lambda: EngineMetrics("0", "s", tuple(map(figures_of, ("PAY_Q", "HUSH_Q", "HUSH_READS_PAY"))))
    done = {"status": "SUCCESS", "message": "Stream created", "queryId": None}
    for command in ("stream/`PAY_IN`/create", "stream/`HUSH_IN`/create", "terminate/HUSH_Q/execute"):
        engine.commands.note(command, done)
    engine.catalog_service.catalog = engine.catalog.with_blocked("query", "HUSH_Q", "HUSH_Q is odd")
    return engine


@pytest.fixture(scope="module")
def server(users: Path) -> Iterator[ServerThread]:
    with ServerThread(made(users)) as running:
        yield running


@pytest.fixture
def reader(users: Path, sockets_folder: Path) -> Iterator[Pair]:  # noqa: F811  # the fixture
    with Pair(made(users), sockets_folder) as pair:  # type: ignore[arg-type]  # any engine will do
        yield pair


WEB = httpx.Client(trust_env=False, timeout=30)


def answer(of: Any, role: str, asked: Ask, x: str) -> str:
    """Status and text of the answer, and how a WebSocket is closed; ``of``: a server, by its URL."""
    method, path, body = asked
    if method == "WS":
        text = quote(json.dumps(body).replace("{x}", x))
        login = httpx.BasicAuth(role, PASSWORD)._auth_header
        with contextlib.closing(Talk(of, path + text, Authorization=login)) as talk:
            return f"{talk.read()} {talk.closed} {talk.refused}"
    data = None if body is None else body.format(x=x) if isinstance(body, str) else json.dumps(body).replace("{x}", x)
    accept = "*/*" if data is None else f"{DELIMITED}, application/json"
    got = WEB.request(
        method, of.url + path.replace("{x}", x), content=data, headers={"Accept": accept}, auth=(role, PASSWORD)
    )
    return f"{got.status_code} {got.text}"


def leaks(of: Any, role: str, asked: Ask) -> list[str]:
    """What an answer tells of what is hidden."""
    of_hidden = answer(of, role, asked, "hush")
    assert not of_hidden.startswith(("5", "401", "429")) and "internal-error" not in of_hidden, (asked, of_hidden)
    if "{x}" not in str(asked[1:]):
        return hidden(of_hidden, "")
    of_none = answer(of, role, asked, "none")
    same = of_hidden == of_none.replace("none", "hush").replace("NONE", "HUSH")
    return hidden(of_hidden, str(asked).replace("{x}", "hush")) + ([] if same else [of_hidden, of_none])


@pytest.mark.parametrize("role", NARROW)
@pytest.mark.parametrize("endpoint", ASKED)
def test_nothing_leaks(server: ServerThread, endpoint: str, role: str) -> None:
    assert {str(asked): found for asked in ASKED[endpoint] if (found := leaks(server, role, asked))} == {}


def test_nothing_leaks_through_a_reader(reader: Pair) -> None:
    """Where lookups are answered by the reader itself; one statement in some, since all are handed on alike."""
    for asked in ASKED.values():
        for one in asked[:: max(1, len(asked) // 8)]:
            assert leaks(reader, "payments", one) == [], one


@pytest.mark.parametrize("through", ["server", "reader"])
def test_the_shell_completes_what_one_sees(through: str, request: pytest.FixtureRequest) -> None:
    of = request.getfixturevalue(through)
    watcher = Watcher(Connection(of.url, "payments", PASSWORD))
    watcher.start()
    try:
        assert until(
            lambda: all(s.columns is not None for s in watcher.names.sources.values()) and watcher.names.sources
        )
        names = str(watcher.names)
        assert "PAY_MIX" in names and "pay-in" in names
        assert hidden(names, "") == []
    finally:
        watcher.stop()
