"""Streams of rows: their forms, one frame a row, and how they end."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import h2.connection
import h2.events
import h2.exceptions
import h2.settings
import httpx
import pytest

from ksqlpy.server.queries import AHEAD_BYTES
from ksqlpy.server.run import ServerThread
from tests.support.fake_engine import FakeEngine, FakePush
from tests.support.waiting import until

WIDE = AHEAD_BYTES // 10_050
"""Rows of the source of that name that are read ahead."""

HEADER = {"queryId": "q1", "columnNames": ["ID", "name"], "columnTypes": ["BIGINT", "STRING"]}


def query(source: str, limit: int | None = None) -> dict[str, str]:
    return {"sql": f"SELECT * FROM {source} EMIT CHANGES{f' LIMIT {limit}' if limit is not None else ''};"}


def lookup(rows: int) -> dict[str, str]:
    return {"sql": f"SELECT * FROM known LIMIT {rows};"}


def wait_for_push(engine: FakeEngine, id: str = "q1") -> FakePush:
    assert until(lambda: id in engine.pushes, every=0.005)
    return engine.pushes[id]


def wait_for_no_push(engine: FakeEngine) -> None:
    assert until(lambda: not engine.pushes, every=0.005)


@pytest.fixture(params=["http", "http2"])
def client(request: pytest.FixtureRequest) -> httpx.Client:
    client: httpx.Client = request.getfixturevalue(request.param)
    return client


def test_lines(client: httpx.Client, engine: FakeEngine) -> None:
    answer = client.post("/query-stream", json={**query("rows", 2), "properties": {"auto.offset.reset": "earliest"}})
    assert answer.headers["content-type"] == "application/vnd.ksqlapi.delimited.v1"
    assert answer.text.endswith("\n")
    assert [json.loads(line) for line in answer.text.splitlines()] == [HEADER, [0, "row 0"], [1, "row 1"]]
    assert engine.calls[0][1] == {"auto.offset.reset": "earliest"}
    wait_for_no_push(engine)  # the answer ends first, closing takes time


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("accept", ["application/json", "application/json, text/plain, */*"])
def test_array(client: httpx.Client, accept: str, rows: int) -> None:
    answer = client.post("/query-stream", json=query("rows", rows), headers={"Accept": accept})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == [HEADER, *([n, f"row {n}"] for n in range(rows))]


def test_print_gives_lines_of_text(client: httpx.Client) -> None:
    answer = client.post("/query-stream", json={"sql": "PRINT rows LIMIT 2;"})
    assert answer.headers["x-query-id"] == "q1"
    assert answer.text == "Key format: KAFKA_INT\nrowtime: 0, value: row 0\nrowtime: 1, value: row 1\n"


def test_print_has_no_other_form(client: httpx.Client, engine: FakeEngine) -> None:
    answer = client.post("/query-stream", json={"sql": "PRINT rows;"}, headers={"Accept": "application/json"})
    assert answer.status_code == 406
    assert answer.json()["error_code"] == 40600
    wait_for_no_push(engine)


def test_one_frame_a_row_in_a_burst(http2: httpx.Client) -> None:
    with http2.stream("POST", "/query-stream", json=query("rows", 3000)) as answer:
        assert answer.http_version == "HTTP/2"
        frames = list(answer.iter_raw())
    assert len(frames) == 3001
    assert all(isinstance(json.loads(f), list) and f.endswith(b"\n") for f in frames[1:])


@pytest.mark.parametrize(("source", "rows", "chunks"), [("rows", 1000, 1), ("wide", 100, 4)])
def test_rows_that_may_linger_come_together(http: httpx.Client, source: str, rows: int, chunks: int) -> None:
    asked = {**query(source, rows), "properties": {"ksqlpy.query.push.linger.ms": "100"}}
    with http.stream("POST", "/query-stream", json=asked) as answer:
        header, *found = answer.iter_raw()
    assert [json.loads(line)[0] for line in b"".join(found).splitlines()] == list(range(rows))
    assert (json.loads(header), found[-1][-1:]) == (HEADER, b"\n")
    assert sum(chunk.endswith(b"\n") for chunk in found) == chunks


@pytest.mark.parametrize("rows", [0, 1, 3000])
def test_one_frame_a_row_of_a_lookup(http2: httpx.Client, rows: int) -> None:
    with http2.stream("POST", "/query-stream", json=lookup(rows)) as answer:
        assert answer.headers["content-type"] == "application/vnd.ksqlapi.delimited.v1"
        header, *frames = answer.iter_raw()
        assert int(answer.headers["content-length"]) == len(header) + sum(map(len, frames))
    assert header.endswith(b"\n") and json.loads(header)["columnNames"] == ["ID", "name"]
    assert frames == [f'[{n},"row {n}"]\n'.encode() for n in range(rows)]


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_forms_of_a_lookup(client: httpx.Client, engine: FakeEngine, rows: int) -> None:
    wanted = [[n, f"row {n}"] for n in range(rows)]
    header, *lines = client.post("/query-stream", json=lookup(rows)).text.splitlines()
    assert (json.loads(header)["columnTypes"], [json.loads(s) for s in lines]) == (["BIGINT", "STRING"], wanted)
    array = client.post("/query-stream", json=lookup(rows), headers={"Accept": "application/json"}).json()
    assert (array[0]["columnTypes"], array[1:]) == (["BIGINT", "STRING"], wanted)
    old = client.post("/query", json={"ksql": lookup(rows)["sql"]}).json()
    assert old[0]["header"]["schema"] == "`ID` BIGINT KEY, `name` STRING"
    assert old[1:] == [{"row": {"columns": row}} for row in wanted]
    assert engine.calls == []


def test_rows_leave_at_once(client: httpx.Client, engine: FakeEngine) -> None:
    with client.stream("POST", "/query-stream", json=query("live")) as answer:
        lines = answer.iter_lines()
        assert json.loads(next(lines)) == HEADER
        push = wait_for_push(engine)
        for n in range(20):
            begin = time.monotonic()
            push.source.put([n, "x"])
            assert json.loads(next(lines)) == [n, "x"]
            assert time.monotonic() - begin < 0.3


@pytest.mark.parametrize("accept", ["*/*", "application/json"])
def test_failure_on_the_way(client: httpx.Client, accept: str) -> None:
    answer = client.post("/query-stream", json=query("fails", 2), headers={"Accept": accept})
    assert answer.status_code == 200
    items = answer.json() if accept == "application/json" else [json.loads(s) for s in answer.text.splitlines()]
    assert items[:-1] == [HEADER, [0, "row 0"], [1, "row 1"]]
    assert items[-1]["@type"] == "generic_error"
    assert (items[-1]["error_code"], items[-1]["message"]) == (50000, "the query failed")


def test_refused_query(client: httpx.Client) -> None:
    answer = client.post("/query-stream", json={"sql": "SELECT * FROM s;"})
    assert (answer.status_code, answer.json()["@type"]) == (400, "statement_error")


@pytest.mark.parametrize("accept", ["text/html", "application/vnd.ksql.v2+json"])
def test_unknown_form(client: httpx.Client, engine: FakeEngine, accept: str) -> None:
    assert client.post("/query-stream", json=query("rows"), headers={"Accept": accept}).status_code == 406
    assert engine.calls == []


@pytest.mark.parametrize("source", ["live", "rows"])
def test_client_that_leaves_ends_its_query(client: httpx.Client, engine: FakeEngine, source: str) -> None:
    limit = 5_000_000 if source == "rows" else None
    with client.stream("POST", "/query-stream", json=query(source, limit)) as answer:
        chunks = answer.iter_raw()
        next(chunks)
        push = wait_for_push(engine)
        assert not push.closed.is_set()
        left = time.monotonic()
        client.close()
    assert push.closed.wait(5)
    assert push.closed_at - left < 0.5


def test_stream_that_is_reset_ends_its_query(server: ServerThread, engine: FakeEngine) -> None:
    """HTTP/2 clients leave a stream without leaving the connection; other streams of it go on."""
    with HttpTwo(server.url) as connection:
        for id in (1, 3):
            connection.post(id, "/query-stream", query("live"))
            assert json.loads(connection.data(id))["queryId"]
        leaves, stays = wait_for_push(engine, "q1"), wait_for_push(engine, "q2")
        connection.reset(1)
        assert leaves.closed.wait(5)
        assert not stays.closed.is_set()
        stays.source.put([1, "still here"])
        assert json.loads(connection.data(3)) == [1, "still here"]
    assert stays.closed.wait(5)


@pytest.mark.parametrize("wrong", [False, 0, "", [], 5])
@pytest.mark.parametrize("key", ["properties", "requestProperties", "sessionVariables"])
@pytest.mark.parametrize("path", ["/query-stream", "/query"])
def test_a_lookup_with_a_wrong_body_is_refused(http: httpx.Client, path: str, key: str, wrong: object) -> None:
    sql, key = ("sql", key) if path == "/query-stream" else ("ksql", key.replace("properties", "streamsProperties"))
    body = {sql: lookup(3)["sql"]}
    assert http.post(path, json={**body, key: {}}).status_code == 200
    answer = http.post(path, json={**body, key: wrong})
    assert (answer.status_code, answer.json()["error_code"]) == (400, 40000)
    assert answer.json()["message"].startswith(f"key '{key}' of the request body must be an object")


@pytest.mark.parametrize("asked", [query("rows", 20_000), lookup(20_000)], ids=["push", "lookup"])
def test_one_frame_a_row_whatever_the_window(server: ServerThread, asked: dict[str, str]) -> None:
    """The client opens its window only when no row is sure to fit; its end then lies anywhere in a row."""
    longest = len('[19999,"row 19999"]\n')
    with HttpTwo(server.url) as connection:
        connection.post(1, "/query-stream", asked)
        assert json.loads(connection.data(1))["columnNames"] == ["ID", "name"]
        for n in range(20_000):
            if connection.state.remote_flow_control_window(1) < longest:
                connection.open_window(1)
            assert connection.data(1) == f'[{n},"row {n}"]\n'.encode()


@pytest.mark.parametrize("length", [1, 100, 8192, 8193, 16384, 16385, 1_000_000])
def test_a_row_of_any_length_passes_a_small_window(server: ServerThread, engine: FakeEngine, length: int) -> None:
    with HttpTwo(server.url, window=1000) as connection:
        connection.post(1, "/query-stream", query("live"))
        got = len(connection.data(1))
        wait_for_push(engine).source.put([1, "x" * length])
        row = b""
        while not row.endswith(b"\n"):
            if got >= 500:
                connection.open_window(1)
                got = 0
            part = connection.data(1)
            got += len(part)
            row += part
    assert json.loads(row) == [1, "x" * length]


class HttpTwo:
    """A connection by hand, because httpx never resets a stream."""

    def __init__(self, url: str, window: int = 65535) -> None:
        self.socket = socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0), timeout=5)
        self.state = h2.connection.H2Connection()
        self.waiting: list[h2.events.DataReceived] = []
        self.taken = 0
        self.state.initiate_connection()
        self.state.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window})

    def __enter__(self) -> HttpTwo:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    def post(self, id: int, path: str, body: object, accept: str = "*/*") -> None:
        head = [(":method", "POST"), (":path", path), (":scheme", "http"), (":authority", "localhost")]
        head.append(("accept", accept))
        self.state.send_headers(id, head)
        self.state.send_data(id, json.dumps(body).encode(), end_stream=True)
        self.socket.sendall(self.state.data_to_send())

    def reset(self, id: int) -> None:
        self.state.reset_stream(id)
        self.socket.sendall(self.state.data_to_send())

    def open_window(self, id: int) -> None:
        """Lets the server send as much again as was taken of a stream since."""
        self.state.acknowledge_received_data(self.taken, id)
        self.taken = 0
        self.socket.sendall(self.state.data_to_send())

    def data(self, id: int) -> bytes:
        while True:
            for event in self.waiting:
                if event.stream_id == id:
                    self.waiting.remove(event)
                    self.taken += event.flow_controlled_length or 0
                    return event.data or b""
            events = self.state.receive_data(self.socket.recv(65536))
            self.waiting += [e for e in events if isinstance(e, h2.events.DataReceived)]


def test_streams_that_are_reset_without_end_end_their_connection(http: httpx.Client, engine: FakeEngine) -> None:
    url = str(http.base_url)
    with HttpTwo(url) as many, pytest.raises((ConnectionError, h2.exceptions.ProtocolError)):
        for id in range(1, 2_000, 2):
            many.post(id, "/query-stream", query("live"))
            many.reset(id)
        while many.socket.recv(65536):  # it fails where nothing comes for five seconds
            pass
        raise ConnectionResetError
    with HttpTwo(url) as few:  # a client that ends its queries by this
        for id in range(1, 200, 2):
            few.post(id, "/query-stream", query("live"))
            few.reset(id)
        few.post(201, "/query-stream", query("rows", 1))
        assert few.data(201)
    assert until(lambda: not engine.pushes)


def test_close_query(client: httpx.Client, http: httpx.Client, engine: FakeEngine) -> None:
    with client.stream("POST", "/query-stream", json=query("live")) as answer:
        lines = answer.iter_lines()
        next(lines)
        closed = http.post("/close-query", json={"queryId": "q1"})
        assert (closed.status_code, closed.json()) == (200, {})
        assert list(lines) == []
    again = http.post("/close-query", json={"queryId": "q1"})
    assert (again.status_code, again.json()["error_code"]) == (400, 40000)


def test_slow_client_holds_its_query_back(http: httpx.Client, engine: FakeEngine) -> None:
    with http.stream("POST", "/query-stream", json=query("wide", 100_000)) as answer:
        chunks = answer.iter_raw()
        next(chunks)
        push = wait_for_push(engine)
        last = -1
        while last != push.taken:
            last = push.taken
            time.sleep(0.3)
        assert WIDE < last < 1_500  # the rest lies in the sockets
    assert push.closed.wait(5)


def test_a_closed_window_holds_its_query_back(server: ServerThread, engine: FakeEngine) -> None:
    with HttpTwo(server.url) as connection:
        connection.post(1, "/query-stream", query("wide", 20_000))
        connection.data(1)
        push = wait_for_push(engine)
        last = -1
        while last != push.taken:
            last = push.taken
            time.sleep(0.3)
        assert WIDE < last < 2 * WIDE
    assert push.closed.wait(5)


@pytest.mark.parametrize("accept", ["*/*", "application/json"])
def test_client_that_leaves_in_an_answer_leaves_nothing(server: ServerThread, accept: str) -> None:
    async def served() -> int:
        return sum("_server_callback" in str(task.get_coro()) for task in asyncio.all_tasks())

    def connections() -> int:
        assert server._loop is not None
        return asyncio.run_coroutine_threadsafe(served(), server._loop).result(5)

    with HttpTwo(server.url) as connection:
        connection.post(1, "/query-stream", lookup(20_000), accept=accept)
        connection.data(1)
        assert connections() == 1
    assert until(lambda: not connections(), every=0.05)


def test_hundred_queries_and_a_statement(server: ServerThread, http2: httpx.Client, engine: FakeEngine) -> None:
    def one(n: int) -> int:
        url = f"{server.url}/query-stream"
        with httpx.stream("POST", url, json=query("live"), trust_env=False, verify=False, timeout=30) as answer:
            lines = answer.iter_lines()
            started.append(json.loads(next(lines))["queryId"])
            return len(list(lines))

    started: list[str] = []
    with ThreadPoolExecutor(100) as pool:
        results = [pool.submit(one, n) for n in range(100)]
        assert until(lambda: len(started) == 100, every=0.02)
        assert http2.post("/ksql", json={"ksql": "SHOW STREAMS;"}).status_code == 200
        for push in list(engine.pushes.values()):
            push.source.put([1, "x"])
        for id in started:
            time.sleep(0.001)
            assert http2.post("/close-query", json={"queryId": id}).status_code == 200
        assert {r.result(timeout=10) for r in results} <= {0, 1}


def test_server_that_stops_ends_its_queries() -> None:
    engine = FakeEngine()
    server = ServerThread(engine)
    with server, httpx.stream("POST", f"{server.url}/query-stream", json=query("live"), trust_env=False) as answer:
        lines = answer.iter_lines()
        assert json.loads(next(lines)) == HEADER
        begin = time.monotonic()
        stopper = threading.Thread(target=server.__exit__, args=(None, None, None))
        stopper.start()
        assert [json.loads(line)["error_code"] for line in lines] == [50303]
        stopper.join()
        assert time.monotonic() - begin < 3
    assert engine.pushes == {}
