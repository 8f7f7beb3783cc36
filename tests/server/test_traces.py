"""Spans of requests, as a collector gets them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from ksqlpy.config import Config
from ksqlpy.server.run import ServerThread
from ksqlpy.server.traced import Traced
from ksqlpy.tracing import TraceHeaders, current, sending
from tests.support.collector import Collector, collector
from tests.support.fake_engine import FakeEngine

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GIVEN = {"traceparent": f"00-{TRACE}-{SPAN}-01", "tracestate": "a=1"}


class Engine(FakeEngine):
    """Tells by which headers the trace goes on at each statement."""

    seen: TraceHeaders | None = None

    def execute(self, *args: object, **named: object) -> list[dict[str, object]]:
        self.seen = current()
        return super().execute(*args, **named)  # type: ignore[arg-type]  # whatever it is given


@contextlib.contextmanager
def traced(engine: FakeEngine, got: Collector, **properties: str) -> Iterator[httpx.Client]:
    """A client of a server whose spans go to a collector; all are there behind it."""
    given = {"ksqlpy.traces.endpoint": got.url, **{f"ksqlpy.traces.{name}": v for name, v in properties.items()}}
    engine.config = Config.of(given)
    with (
        sending(engine.config),
        ServerThread(engine) as server,
        httpx.Client(base_url=server.url, timeout=10, trust_env=False) as http,
    ):
        yield http


def test_a_request_continues_the_trace_of_its_client() -> None:
    engine = Engine()
    with collector() as got:
        with traced(engine, got) as http:
            assert http.post("/ksql", json={"ksql": "SHOW STREAMS;"}, headers=GIVEN).status_code == 200
        [span] = got.spans
    assert (span.name, span.trace, span.parent, span.failed) == ("POST /ksql", TRACE, SPAN, False)
    wanted = {"http.request.method": "POST", "http.route": "/ksql", "http.response.status_code": "200"}
    assert span.attributes == {**wanted, "url.scheme": "http"}
    assert span.service["service.name"] == "ksqlpy" and span.service["service.namespace"] == "default_"
    assert engine.seen == (f"00-{TRACE}-{span.id}-01", "a=1"), "what is done for it is a child of its span"


def test_each_request_has_a_span_of_a_bounded_name() -> None:
    engine = FakeEngine()
    with collector() as got, traced(engine, got) as http:
        http.get("/is_valid_property/auto.offset.reset")
        http.get("/nobody/knows/this")
        http.get("/info", headers={"Host": "evil.example"})
        http.post("/ksql", json={"ksql": "BROKEN;"})
        http.post("/query-stream", json={"sql": "SELECT * FROM known WHERE id = 3;"})
        http.post("/query-stream", json={"sql": "SELECT * FROM rows EMIT CHANGES LIMIT 2;"})
        with http.stream("POST", "/query-stream", json={"sql": "SELECT * FROM live EMIT CHANGES;"}):
            pass  # the client leaves
        for path in ("/metrics", "/live", "/ready", "/chc/live", "/healthcheck"):
            assert http.get(path, headers=GIVEN).status_code == 200
    codes = [(s.name, s.attributes.get("http.response.status_code"), s.failed) for s in got.spans]
    assert codes[:4] == [
        ("GET /is_valid_property", "200", False),
        ("GET other", "404", False),
        ("GET /info", "421", False),
        ("POST /ksql", "500", True),
    ]
    assert [name for name, *_ in codes[4:]] == ["lookup", *["POST /query-stream"] * 3]
    assert got.tree(got.named("lookup")[0].trace) == ["POST /query-stream/lookup", "POST /query-stream"]
    assert got.named("lookup")[0].attributes == {"ksqlpy.rows": "3"}


def test_the_part_of_the_traces_that_is_sent() -> None:
    engine = Engine()
    with collector() as got, traced(engine, got, ratio="0") as http:
        http.post("/ksql", json={"ksql": "SHOW STREAMS;"})
        http.post("/ksql", json={"ksql": "SHOW STREAMS;"}, headers={"traceparent": f"00-{TRACE}-{SPAN}-00"})
        http.post("/ksql", json={"ksql": "SHOW STREAMS;"}, headers=GIVEN)
    assert [s.trace for s in got.spans] == [TRACE]


@pytest.mark.parametrize(("records", "given"), [("true", True), ("false", False)])
def test_without_a_collector_the_headers_of_the_request_go_on(records: str, given: bool) -> None:
    engine = Engine()
    engine.config = Config.of({"ksqlpy.traces.records": records})
    with ServerThread(engine) as server, httpx.Client(base_url=server.url, trust_env=False) as http:
        http.post("/ksql", json={"ksql": "SHOW STREAMS;"}, headers=GIVEN)
        assert engine.seen == (tuple(GIVEN.values()) if given else None)
        http.post("/ksql", json={"ksql": "SHOW STREAMS;"}, headers={"traceparent": "nonsense"})
        assert engine.seen is None


@pytest.mark.parametrize(("accepted", "code"), [(True, "101"), (False, "403")])
def test_a_websocket_has_a_span(accepted: bool, code: str) -> None:
    seen = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(dict(scope["headers"])[b"traceparent"].decode())
        for kind in ("accept", "close") if accepted else ("close",):
            await send({"type": f"websocket.{kind}"})

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        pass

    headers = [(name.encode(), value.encode()) for name, value in GIVEN.items()]
    scope = {"type": "websocket", "path": "/ws/query", "scheme": "ws", "headers": headers}
    with collector() as got:
        with sending(Config.of({"ksqlpy.traces.endpoint": got.url})):
            asyncio.run(Traced(app, {"/ws/query"})(scope, receive, send))
        [span] = got.spans
    assert (span.name, span.attributes["http.response.status_code"]) == ("GET /ws/query", code)
    assert seen == [f"00-{TRACE}-{span.id}-01"], "a server behind a reader goes on from the reader's span"
