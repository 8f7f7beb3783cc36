"""POST /samples, and who is told of it by GET /whoami."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksqlpy.config import Config
from ksqlpy.server.auth.users import add_user
from ksqlpy.server.backend import Backend
from ksqlpy.server.run import ServerThread
from tests.access.engine import AccessEngine

PASSWORD = "correct horse"
MADE = "CREATE STREAM sample_rides (id INT KEY) WITH (KAFKA_TOPIC='sr', VALUE_FORMAT='JSON', PARTITIONS=1);"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerThread]:
    """A server that has a sample, and asks for a login."""
    users = tmp_path / "users"
    for role in ("developer", "reader", "admin"):
        add_user(users, role, PASSWORD, frozenset({role}))
    engine = AccessEngine()
    engine.brokers.config = Config.of({"ksqlpy.port": "0", "ksqlpy.auth.users.file": str(users)})
    backend = Backend(engine)  # type: ignore[arg-type]
    backend.samples = {"taxi": lambda: str(engine.execute(MADE)[0]["commandStatus"]["message"])}
    with ServerThread(backend) as running:
        yield running


def ask(server: ServerThread, who: str, method: str, path: str, **body: Any) -> httpx.Response:
    own: Any = {"json": body} if body else {}
    return httpx.request(method, server.url + path, auth=(who, PASSWORD), trust_env=False, timeout=30, **own)


def test_a_sample_is_made_for_who_may(server: ServerThread) -> None:
    assert ask(server, "developer", "GET", "/whoami").json()["samples"] == ["taxi"]
    done = ask(server, "developer", "POST", "/samples", name="taxi")
    assert (done.status_code, done.json()) == (200, {"done": "Stream created"})
    [streams] = ask(server, "developer", "POST", "/ksql", ksql="SHOW STREAMS;").json()
    assert "SAMPLE_RIDES" in {s["name"] for s in streams["streams"]}


def test_nobody_else_sees_it(server: ServerThread) -> None:
    assert ask(server, "reader", "GET", "/whoami").json()["samples"] == []
    refused = ask(server, "reader", "POST", "/samples", name="taxi")
    assert (refused.status_code, refused.json()["ksqlpy"]["code"]) == (403, "missing-right")


def test_a_sample_that_is_not_there(server: ServerThread) -> None:
    refused = ask(server, "admin", "POST", "/samples", name="trains")
    assert (refused.status_code, refused.json()["ksqlpy"]["code"]) == (404, "unknown-sample")


def test_a_server_without_samples_offers_none() -> None:
    with ServerThread(AccessEngine()) as plain:  # type: ignore[arg-type]
        assert httpx.get(f"{plain.url}/whoami", trust_env=False).json()["samples"] == []
