"""What lasts ends with the login, and says so: rows that are inserted, and queries over a WebSocket."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksqlpy.config import Config
from ksqlpy.server.auth.users import remove_user
from tests.server.auth.test_vouch import Pair
from tests.server.test_websocket import Talk, query
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import until


@pytest.fixture(params=["a server", "a reader"])
def through(request: pytest.FixtureRequest, engine: FakeEngine, users: Path, sockets_folder: Path) -> Iterator[Any]:
    """What is asked, and knows alice: its ``url``."""
    if request.param == "a server":
        yield request.getfixturevalue("guarded")
        return
    engine.config = Config.of({"ksqlpy.port": "0", "ksqlpy.auth.users.file": str(users)})
    with Pair(engine, sockets_folder) as pair:
        yield pair


ALICE = "Basic " + base64.b64encode(b"alice:correct horse").decode()


def chunk(line: bytes) -> bytes:
    return b"%x\r\n%s\n\r\n" % (len(line) + 1, line)


def test_rows_that_are_inserted(through: Any, users: Path, engine: FakeEngine) -> None:
    head = f"POST /inserts-stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: {ALICE}\r\n"
    head += "Transfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", httpx.URL(through.url).port or 0), timeout=30) as connection:
        connection.sendall(head.encode() + chunk(b'{"target": "rides"}') + chunk(b'{"id": 1}'))
        answer = b""
        while b'"seq":0' not in answer:
            answer += connection.recv(65_536)
        remove_user(users, "alice")
        while b"error" not in answer and (data := connection.recv(65_536)):
            answer += data
    [last] = [json.loads(line) for line in answer.splitlines() if b"error" in line]
    assert (last["status"], last["seq"], last["error_code"]) == ("error", 1, 40100)
    assert last["message"] == "the login does not hold any more (hint: log in again)"
    assert until(lambda: engine.inserts[0].closed)


def test_a_query_over_a_websocket(through: Any, users: Path, engine: FakeEngine) -> None:
    talk = Talk(through, query("SELECT * FROM live EMIT CHANGES;"), Authorization=ALICE)
    assert talk.read(1)
    remove_user(users, "alice")
    [error] = map(json.loads, talk.read())
    assert error["errorMessage"]["error_code"] == 40100
    assert talk.closed == (1003, "the login does not hold any more (hint: log in again)")
    assert until(lambda: not engine.pushes)
    talk.close()


@pytest.mark.parametrize("name", ["access_token", "token", "authorization"])
def test_a_websocket_takes_no_token_in_its_url(through: Any, engine: FakeEngine, name: str) -> None:
    """As ksqlDB's does: browsers' sockets have no headers, and URLs are written into logs."""
    for headers in ({}, {"Authorization": ALICE}):
        talk = Talk(through, query("SELECT * FROM live EMIT CHANGES;") + f"&{name}=abc", **headers)
        talk.read()
        assert talk.refused == 400
        talk.close()
    assert engine.calls == []
