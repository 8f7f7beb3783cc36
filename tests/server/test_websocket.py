"""/ws/query: a message with the columns, one for each row, and how the connection is closed."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import wsproto
from wsproto.events import AcceptConnection, CloseConnection, RejectConnection, RejectData, Request, TextMessage

from ksqlpy.server.backend import State
from ksqlpy.server.run import ServerThread
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import until

SCHEMA = [
    {"name": "ID", "schema": {"type": "BIGINT", "fields": None, "memberSchema": None}, "type": "KEY"},
    {"name": "name", "schema": {"type": "STRING", "fields": None, "memberSchema": None}},
]


def query(sql: str, **more: object) -> str:
    return "/ws/query?request=" + quote(json.dumps({"ksql": sql, **more})) + "&version=1"


class Talk:
    """A WebSocket: what came, and how it was closed."""

    def __init__(self, server: ServerThread, target: str, **headers: str) -> None:
        url = httpx.URL(server.url)
        self._socket = socket.create_connection((url.host, url.port or 0), timeout=20)
        self._state = wsproto.WSConnection(wsproto.ConnectionType.CLIENT)
        extra = [(n.encode(), v.encode()) for n, v in headers.items()]
        self._send(Request(host=f"localhost:{url.port}", target=target, extra_headers=extra))
        self.messages: list[str] = []
        self.closed: tuple[int, str | None] | None = None
        self.refused: int | None = None

    def _send(self, event: Any) -> None:
        self._socket.sendall(self._state.send(event))

    def read(self, count: int = 1_000_000) -> list[Any]:
        """So many messages, or all until it is closed."""
        part = ""
        while len(self.messages) < count and self.closed is None and self.refused is None:
            data = self._socket.recv(65_536)
            self._state.receive_data(data or None)
            for event in self._state.events():
                if isinstance(event, TextMessage):
                    part += event.data
                    if event.message_finished:
                        self.messages.append(part)
                        part = ""
                elif isinstance(event, CloseConnection):
                    self.closed = (event.code, event.reason)
                elif isinstance(event, RejectConnection):
                    self.refused = event.status_code
                else:
                    assert isinstance(event, AcceptConnection | RejectData), event
            if not data:
                break
        found, self.messages = self.messages[:count], self.messages[count:]
        return found

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def talks(server: ServerThread) -> Iterator[Any]:
    open_: list[Talk] = []

    def talk(target: str, **headers: str) -> Talk:
        open_.append(Talk(server, target, **headers))
        return open_[-1]

    yield talk
    for one in open_:
        one.close()


def test_rows(talks: Any, engine: FakeEngine) -> None:
    talk = talks(query("SELECT * FROM rows EMIT CHANGES LIMIT 2;", streamsProperties={"auto.offset.reset": "latest"}))
    schema, *rows = map(json.loads, talk.read())
    assert schema == SCHEMA
    assert rows == [{"row": {"columns": [n, f"row {n}"]}} for n in range(2)]
    assert talk.closed == (1000, "done")
    assert engine.calls[0][1] == {"auto.offset.reset": "latest"}
    assert until(lambda: not engine.pushes)


def test_rows_come_as_they_happen_until_the_client_leaves(talks: Any, engine: FakeEngine) -> None:
    talk = talks(query("SELECT * FROM live EMIT CHANGES;"))
    assert json.loads(talk.read(1)[0]) == SCHEMA
    engine.pushes["q1"].source.put([7, "seven"])
    assert json.loads(talk.read(1)[0]) == {"row": {"columns": [7, "seven"]}}
    talk.close()
    assert until(lambda: not engine.pushes)


def test_print_gives_lines(talks: Any) -> None:
    talk = talks(query("PRINT rows LIMIT 1;"))
    assert talk.read() == ["Key format: KAFKA_INT", "rowtime: 0, value: row 0"]
    assert talk.closed == (1000, "done")


def test_a_query_that_fails(talks: Any) -> None:
    talk = talks(query("SELECT * FROM fails EMIT CHANGES LIMIT 1;"))
    _, row, error = map(json.loads, talk.read())
    assert row == {"row": {"columns": [0, "row 0"]}}
    assert (error["errorMessage"]["error_code"], error["errorMessage"]["message"]) == (50000, "the query failed")
    assert talk.closed == (1011, "the query failed")


@pytest.mark.parametrize(
    ("target", "code", "says"),
    [
        ("/ws/query", 1003, "the parameter request is missing"),
        ("/ws/query?request=%7B", 1003, "the request body is not JSON"),
        ("/ws/query?request=%FF", 1003, "the request body is not JSON"),
        ("/ws/query?request=%5B%5D", 1003, "the request body must be a JSON object"),
        ("/ws/query?request=%7B%7D", 1003, "key 'ksql' of the request body is missing"),
        (query("SELECT * FROM rows;"), 1003, "pull queries are not there"),
    ],
)
def test_bad_requests(talks: Any, target: str, code: int, says: str) -> None:
    talk = talks(target)
    [error] = map(json.loads, talk.read())
    assert says in error["errorMessage"]["message"]
    assert talk.closed is not None
    assert talk.closed[0] == code
    assert (talk.closed[1] or "").startswith(says)
    assert len((talk.closed[1] or "").encode()) <= 123


@pytest.mark.parametrize(("state", "code"), [(State.STARTING, 1013), (State.STOPPING, 1001)])
def test_a_server_that_is_not_ready(talks: Any, server: ServerThread, state: State, code: int) -> None:
    server.backend.state = state
    talk = talks(query("SELECT * FROM rows EMIT CHANGES;"))
    talk.read()
    assert talk.closed == (code, state.value if state is State.STOPPING else f"{state.value} (hint: try again soon)")
    server.backend.state = State.READY


def test_pages_of_other_origins_are_refused(talks: Any, engine: FakeEngine) -> None:
    talk = talks(query("SELECT * FROM rows EMIT CHANGES;"), Origin="http://evil.example")
    talk.read()
    assert talk.refused == 403
    assert engine.calls == []


def test_a_stopping_server_closes_it(engine: FakeEngine) -> None:
    with ServerThread(engine) as server:
        talk = Talk(server, query("SELECT * FROM live EMIT CHANGES;"))
        talk.read(1)
        assert until(lambda: "q1" in engine.pushes)
        server.backend.state = State.STOPPING
        engine.pushes["q1"].close()
        talk.read()
        assert talk.closed == (1001, "the server is shutting down")
        talk.close()


def test_it_is_no_endpoint_of_plain_http(http: httpx.Client) -> None:
    assert http.get("/ws/query").status_code == 404
