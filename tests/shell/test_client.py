"""The client: what it gives, and the errors that it restores."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from ksqlpy import insertlines as module
from ksqlpy.client import Client, Connection, RowRefused, Waiting
from ksqlpy.errors import ConfigProblem, EngineProblem, EnvironmentProblem, KsqlError, Span, StatementError
from ksqlpy.server.backend import Backend, State
from ksqlpy.server.run import ServerThread, listen
from tests.support.fake_engine import FakeEngine


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url) as client:
        yield client


def test_everything_that_works(client: Client, engine: FakeEngine) -> None:
    assert client.statements("SHOW STREAMS;", {"a": 1})[0]["streams"][0]["name"] == "S"
    assert engine.calls == [("SHOW STREAMS;", {"a": 1})]
    assert client.info()["serverStatus"] == "RUNNING"
    assert client.healthcheck()["isHealthy"] is True
    engine.healthy = False
    assert client.healthcheck()["isHealthy"] is False
    client.check_property("auto.offset.reset")


def test_push(client: Client) -> None:
    header, *rows = client.push("SELECT * FROM rows EMIT CHANGES LIMIT 2;")
    assert header["columnNames"] == ["ID", "name"]
    assert rows == [[0, "row 0"], [1, "row 1"]]


def test_rows_are_inserted(client: Client, engine: FakeEngine) -> None:
    rows = [{"n": 1, "fare": Decimal("12.50"), "on": date(2024, 5, 6), "raw": b"ab"}, '{\n"n": 2}']
    assert list(client.inserts("rides", rows, {"ksqlpy.query.mode": "real-time"})) == [2]
    [stream] = engine.inserts
    assert stream.target == "rides"
    assert stream.rows == [{"n": 1, "fare": "12.50", "on": "2024-05-06", "raw": "YWI="}, {"n": 2}]
    assert list(client.inserts("rides", [])) == [0], "the server is asked whether it would take any"
    with pytest.raises(KsqlError) as e:
        list(client.inserts("nowhere", []))
    assert (e.value.code, e.value.error_code) == ("unknown-source", 40000)


@pytest.mark.parametrize(("most", "held", "known"), [(2, 60.0, [2, 4]), (3, 60.0, [3, 4]), (9, -1.0, [1, 2, 3, 4])])
def test_rows_are_acknowledged_while_they_come(
    client: Client,
    engine: FakeEngine,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    held: float,
    known: list[int],
) -> None:
    monkeypatch.setattr(module, "_ROWS", most)
    monkeypatch.setattr(module, "_HELD", held)
    found = []
    for there in client.inserts("rides", ({"n": n} for n in range(4))):
        found.append(there)
        assert [row for stream in engine.inserts for row in stream.rows] == [{"n": n} for n in range(there)]
    assert found == known


def test_a_row_that_is_refused_is_named(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ROWS", 2)
    inserting = client.inserts("rides", [{"n": 0}, {"n": 1}, {"n": 2}, {"bad": 3}, {"n": 4}])
    assert next(inserting) == 2
    with pytest.raises(RowRefused, match="column BAD is INTEGER") as e:
        next(inserting)
    assert (e.value.row, e.value.error_code) == (3, 40000)


def test_what_the_giver_of_rows_raises_comes_behind_them(client: Client, engine: FakeEngine) -> None:
    def rows() -> Iterator[dict[str, int]]:
        yield {"n": 0}
        raise LookupError("no more")

    inserting = client.inserts("rides", rows())
    assert next(inserting) == 1
    with pytest.raises(LookupError):
        next(inserting)
    assert [stream.rows for stream in engine.inserts] == [[{"n": 0}]]


def test_rows_of_an_id_that_are_there_are_passed_over(client: Client, engine: FakeEngine) -> None:
    engine.ids["loader"] = 2
    rows = [{"n": n} for n in range(5)]
    assert list(client.inserts("rides", rows, id="loader")) == [2, 5]
    asked, sent = engine.inserts
    assert (asked.rows, sent.rows) == ([], rows[2:])
    assert list(client.inserts("rides", rows[:2], id="loader")) == [2]


def test_print(client: Client, engine: FakeEngine) -> None:
    assert list(client.lines("PRINT rows LIMIT 1;")) == ["q1", "Key format: KAFKA_INT", "rowtime: 0, value: row 0"]
    with pytest.raises(EngineProblem, match="the query failed"):
        list(client.lines("PRINT fails LIMIT 1;"))
    lines = client.lines("PRINT live;")
    assert next(lines) == "q3"
    assert client.close_query("q3")
    assert list(lines) == ["Key format: KAFKA_INT"]


def test_row_with_unicode_line_ends(client: Client, engine: FakeEngine) -> None:
    rows = client.push("SELECT * FROM live EMIT CHANGES;")
    next(rows)
    engine.pushes["q1"].source.put([1, "a\u2028b\x85c\x1cd\ne"])
    assert next(rows) == [1, "a\u2028b\x85c\x1cd\ne"]
    assert client.close_query("q1") is True
    assert list(rows) == []
    assert client.close_query("q1") is False


def test_closed_iterator_ends_the_query(client: Client, engine: FakeEngine) -> None:
    rows = client.push("SELECT * FROM live EMIT CHANGES;")
    next(rows)
    push = engine.pushes["q1"]
    rows.close()
    assert push.closed.wait(5)


def test_statement_error_is_restored(client: Client) -> None:
    sql = "CREATE STREAM s;\nBAD thing;"
    with pytest.raises(StatementError) as e:
        client.statements(sql)
    error = e.value
    assert (error.code, error.message, error.error_code) == ("bad-thing", "There is no thing", 40001)
    assert (error.span, error.sql, error.full_hint) == (Span(21, 25), sql, "did you mean `THINGS`?")
    assert error.statement_text == "BAD thing;"
    assert len(error.entities) == 1


def test_other_errors(client: Client) -> None:
    with pytest.raises(EngineProblem, match="RuntimeError: nobody"):
        client.statements("BROKEN;")
    with pytest.raises(ConfigProblem, match="there is no property") as e:
        client.check_property("auto.offset.rest/../x")
    assert e.value.code == "unknown-property"
    with pytest.raises(EngineProblem, match="the query failed") as e:
        list(client.push("SELECT * FROM fails EMIT CHANGES LIMIT 1;"))
    assert e.value.code == "query-failed"


@pytest.mark.parametrize("url", ["", "localhost:8088", "ftp://x", "http://", "http://x:port", "http://[::1"])
def test_no_url(url: str) -> None:
    with pytest.raises(ConfigProblem) as e:
        Client(url)
    assert e.value.code == "bad-url"


def test_nobody_there() -> None:
    with Client("http://127.0.0.1:9") as client, pytest.raises(EnvironmentProblem) as e:
        client.info()
    assert (e.value.code, e.value.hint) == ("server-unavailable", "start one: ksqlpy server")


class Shown:
    """Takes down what is waited for, and does something then."""

    def __init__(self, do: Callable[[], None]) -> None:
        self.said: list[str] = []
        self._do = do

    @contextlib.contextmanager
    def __call__(self, text: str) -> Iterator[None]:
        self.said.append(text)
        self._do()
        yield


ASKED: list[Callable[[Client], object]] = [
    lambda client: client.statements("SHOW STREAMS;"),
    lambda client: [*client.push("SELECT * FROM rows EMIT CHANGES LIMIT 2;")],
    lambda client: [*client.lines("PRINT rows LIMIT 1;")],
    lambda client: client.healthcheck(),
    lambda client: client.check_property("auto.offset.reset"),
]


@pytest.mark.parametrize("ask", ASKED)
def test_a_server_that_starts_is_waited_for(ask: Callable[[Client], object]) -> None:
    backend = Backend(FakeEngine(), State.STARTING)
    with ServerThread(backend) as server:
        with Client(server.url) as client, pytest.raises(EngineProblem) as e:
            ask(client)
        assert e.value.code == "server-starting"

        def start() -> None:
            backend.state = State.READY

        shown = Shown(start)
        with Client(Connection(server.url, waiting=Waiting(starting=60, shown=shown))) as client:
            ask(client)
        assert shown.said == [f"waiting for {server.url}"]


@pytest.mark.parametrize("ask", ASKED)
def test_a_server_that_does_not_answer_yet_is_waited_for(ask: Callable[[Client], object]) -> None:
    with listen("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    with contextlib.ExitStack() as serving:
        shown = Shown(lambda: serving.enter_context(ServerThread(FakeEngine(), port=port)) and None)
        there = Connection(f"http://127.0.0.1:{port}", waiting=Waiting(not_yet=60, shown=shown))
        with Client(there) as client:
            ask(client)
            assert shown.said == [f"waiting for http://127.0.0.1:{port}"]
            serving.close()
            with pytest.raises(EnvironmentProblem):  # it was there: it is not waited for when it is gone
                ask(client)


class Other(BaseHTTPRequestHandler):
    """A server of another kind: an error of ksqlDB's, a page, a stream that breaks."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/ksql":
            self.send_response(400)
            self.end_headers()
            self.wfile.write(b'{"@type":"statement_error","error_code":40001,"message":"line 1:1: no","entities":[]}')
        else:
            self.send_response(200)
            self.send_header("content-length", "100")
            self.end_headers()
            self.wfile.write(b'{"queryId":"q"}\n[1]\n')

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<h1>hello</h1>")

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def other() -> Iterator[Client]:
    with HTTPServer(("127.0.0.1", 0), Other) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        with Client(f"http://127.0.0.1:{server.server_port}") as client:
            yield client
        server.shutdown()
        thread.join()


def test_errors_of_a_ksqldb_server(other: Client) -> None:
    with pytest.raises(StatementError, match="line 1:1: no") as e:
        other.statements("x;")
    assert (e.value.code, e.value.span) == ("server-40001", None)


def test_no_ksqldb_server_at_all(other: Client) -> None:
    for call in (other.info, other.healthcheck):
        with pytest.raises(EnvironmentProblem) as e:
            call()
        assert e.value.code == "no-ksqldb-server"


def test_connection_that_breaks(other: Client) -> None:
    rows = other.push("SELECT 1;")
    assert [next(rows), next(rows)] == [{"queryId": "q"}, [1]]
    with pytest.raises(EnvironmentProblem) as e:
        next(rows)
    assert e.value.code == "connection-lost"
