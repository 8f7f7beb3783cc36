"""An endpoint is a function in a router: the states of the server, errors, media types and the gate hold for it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from ksqlpy.errors import EngineProblem
from ksqlpy.server.app import ROUTERS
from ksqlpy.server.backend import State
from ksqlpy.server.run import ServerThread
from tests.server.names_endpoint import router
from tests.support.fake_engine import FakeEngine


@pytest.fixture
def engine() -> Iterator[FakeEngine]:
    ROUTERS.append(router)
    yield FakeEngine()
    ROUTERS.remove(router)


def test_it_answers(http: httpx.Client) -> None:
    answer = http.get("/names")
    assert (answer.status_code, answer.json()) == (200, {"service": "default_", "kafka": "k"})
    assert answer.headers["content-type"] == "application/vnd.ksql.v1+json"
    assert http.get("/names", headers={"Accept": "application/json"}).headers["content-type"] == "application/json"
    assert http.get("/info").status_code == 200


def test_what_holds_of_all_holds_of_it(http: httpx.Client, server: ServerThread) -> None:
    assert http.get("/names", headers={"Accept": "text/html"}).status_code == 406
    assert http.get("/names", headers={"Host": "evil.example"}).status_code == 421
    assert http.post("/names").status_code == 405
    server.backend.state = State.STARTING
    answer = http.get("/names")
    assert (answer.status_code, answer.json()["error_code"]) == (503, 50302)


def test_an_error_of_the_engine_has_a_body(
    http: httpx.Client, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> None:
        raise EngineProblem("query-failed", "there are no names")

    monkeypatch.setattr(engine, "info", fails)
    answer = http.get("/names")
    assert (answer.status_code, answer.json()["message"]) == (500, "there are no names")
