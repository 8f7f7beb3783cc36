"""POST /inserts-stream: a line for each row, while rows still come; how it ends."""

from __future__ import annotations

import json
import queue
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import h2.connection
import h2.events
import h2.settings
import httpx
import pytest

from ksqlpy.server.backend import State
from ksqlpy.server.inserts import AHEAD
from ksqlpy.server.run import ServerThread
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import until

TARGET = {"target": "rides"}
DELIMITED = "application/vnd.ksqlapi.delimited.v1"


def body(*rows: object, target: object = TARGET) -> bytes:
    return "\n".join(json.dumps(one) for one in (target, *rows)).encode()


def ok(*numbers: int) -> list[dict[str, Any]]:
    return [{"status": "ok", "seq": n} for n in numbers]


@pytest.fixture(params=["http", "http2"])
def client(request: pytest.FixtureRequest) -> httpx.Client:
    client: httpx.Client = request.getfixturevalue(request.param)
    return client


class Feed:
    """A body that a test sends piece by piece; None ends it."""

    def __init__(self) -> None:
        self._pieces: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def put(self, *lines: object, end: bool = False) -> None:
        for line in lines:
            self._pieces.put(json.dumps(line).encode() + b"\n")
        if end:
            self._pieces.put(None)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._pieces.get, None)


class Talk:
    """A stream of HTTP/2 whose client reads answers while it still sends, which httpx does not."""

    def __init__(self, server: ServerThread, window: int = 65_535) -> None:
        self.url = httpx.URL(server.url)
        self.socket = socket.create_connection((self.url.host, self.url.port or 0), timeout=20)
        self.h2 = h2.connection.H2Connection()
        own = {h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window}
        self.h2.local_settings = h2.settings.Settings(client=True, initial_values=own)
        self.h2.initiate_connection()
        head = {
            ":method": "POST",
            ":path": "/inserts-stream",
            ":scheme": "http",
            ":authority": f"localhost:{self.url.port}",
        }
        self.h2.send_headers(1, list(head.items()))
        self.frames: list[bytes] = []
        self.status = ""
        self.ended = False

    def send(self, *lines: object, end: bool = False) -> None:
        text = "".join(json.dumps(line) + "\n" for line in lines)
        self.h2.send_data(1, text.encode(), end_stream=end)
        self.socket.sendall(self.h2.data_to_send())

    def read(self, frames: int) -> list[Any]:
        """So many frames, or all until the end."""
        while len(self.frames) < frames and not self.ended:
            for event in self.h2.receive_data(self.socket.recv(65_536)):
                if isinstance(event, h2.events.ResponseReceived):
                    self.status = dict(event.headers)[b":status"].decode()
                elif isinstance(event, h2.events.DataReceived):
                    self.frames += [event.data] if event.data else []
                    self.h2.acknowledge_received_data(event.flow_controlled_length, 1)
                elif isinstance(event, h2.events.StreamEnded):
                    self.ended = True
            self.socket.sendall(self.h2.data_to_send())
        found, self.frames = self.frames[:frames], self.frames[frames:]
        return [json.loads(f) for f in found]

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def talk(server: ServerThread) -> Iterator[Talk]:
    talk = Talk(server)
    yield talk
    talk.close()


def test_a_line_for_each_row(client: httpx.Client, engine: FakeEngine) -> None:
    answer = client.post("/inserts-stream", content=body({"ID": 1}, {"ID": 2}, {"ID": 3}))
    assert (answer.status_code, answer.headers["content-type"]) == (200, DELIMITED)
    assert [json.loads(line) for line in answer.text.splitlines()] == ok(0, 1, 2)
    [inserts] = engine.inserts
    assert (inserts.target, inserts.rows) == ("rides", [{"ID": 1}, {"ID": 2}, {"ID": 3}])
    assert until(lambda: inserts.closed)


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n", b"\n\n  \n"])
def test_the_last_line_need_not_end(client: httpx.Client, engine: FakeEngine, ending: bytes) -> None:
    answer = client.post("/inserts-stream", content=body({"ID": 1}) + ending)
    assert [json.loads(line) for line in answer.text.splitlines()] == ok(0)


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_array(client: httpx.Client, rows: int) -> None:
    content = body(*[{"ID": n} for n in range(rows)])
    answer = client.post("/inserts-stream", content=content, headers={"Accept": "application/json"})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == ok(*range(rows))


@pytest.mark.parametrize("content", [body(), body() + b"\n"])
def test_no_rows(client: httpx.Client, content: bytes) -> None:
    answer = client.post("/inserts-stream", content=content)
    assert (answer.status_code, answer.text) == (200, "")


def test_a_stream_with_an_id_goes_on(client: httpx.Client, engine: FakeEngine) -> None:
    engine.ids["loader-7"] = 2
    there = {"status": "ok", "id": "loader-7", "rows": 2}
    answer = client.post("/inserts-stream", content=body({"ID": 3}, {"ID": 4}, target={**TARGET, "id": "loader-7"}))
    assert [json.loads(line) for line in answer.text.splitlines()] == [there, *ok(2, 3)]
    assert engine.inserts[0].rows == [{"ID": 3}, {"ID": 4}]


@pytest.mark.parametrize("begin", [0, 1, 2])
def test_rows_that_come_again_are_not_written_again(client: httpx.Client, engine: FakeEngine, begin: int) -> None:
    engine.ids["loader-7"] = 2
    rows = [{"ID": n} for n in range(begin, 4)]
    content = body(*rows, target={**TARGET, "id": "loader-7", "seq": begin})
    answer = client.post("/inserts-stream", content=content, headers={"Accept": "application/json"})
    assert answer.json() == [{"status": "ok", "id": "loader-7", "rows": 2}, *ok(*range(begin, 4))]
    assert engine.inserts[0].rows == [{"ID": 2}, {"ID": 3}]


@pytest.mark.parametrize("accept", [DELIMITED, "application/json"])
def test_how_far_an_id_came(client: httpx.Client, accept: str) -> None:
    content = body(target={**TARGET, "id": "a.b-C_1" * 14})
    answer = client.post("/inserts-stream", content=content, headers={"Accept": accept})
    there = {"status": "ok", "id": "a.b-C_1" * 14, "rows": 0}
    assert answer.json() == (there if accept == DELIMITED else [there])


def test_how_far_an_id_came_is_known_ahead_of_the_rows(talk: Talk, engine: FakeEngine) -> None:
    engine.ids["loader-7"] = 1
    talk.send({**TARGET, "id": "loader-7"})
    assert talk.read(1) == [{"status": "ok", "id": "loader-7", "rows": 1}]
    talk.send({"ID": 2})
    assert talk.read(1) == ok(1)
    talk.send({"ID": 3}, {"bad": 1})
    good, bad = talk.read(2)
    assert (good, bad["status"], bad["seq"]) == (ok(2)[0], "error", 3)


def test_answers_come_while_rows_do(talk: Talk, engine: FakeEngine) -> None:
    talk.send(TARGET, {"ID": 1})
    assert talk.read(1) == ok(0)
    talk.send({"ID": 2}, {"ID": 3})
    assert talk.read(2) == ok(1, 2)
    talk.send({"ID": 4}, end=True)
    assert talk.read(9) == ok(3)
    assert (talk.status, talk.ended) == ("200", True)


def test_over_http_1_too(http: httpx.Client, engine: FakeEngine) -> None:
    feed = Feed()
    feed.put(TARGET, {"ID": 1})
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(http.post, "/inserts-stream", content=iter(feed))
        assert until(lambda: engine.inserts and engine.inserts[0].acked == 1)  # its body has not ended
        feed.put({"ID": 2}, end=True)
        assert [json.loads(line) for line in answer.result().text.splitlines()] == ok(0, 1)


def test_answers_over_http_1_come_while_rows_do(server: ServerThread) -> None:
    url = httpx.URL(server.url)
    with socket.create_connection((url.host, url.port or 0), timeout=20) as connection:
        head = "POST /inserts-stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head.encode())
        seen = b""
        for number, line in enumerate([TARGET, {"ID": 1}, {"ID": 2}]):
            data = json.dumps(line).encode() + b"\n"
            connection.sendall(b"%x\r\n%s\r\n" % (len(data), data))
            while number and b'"seq":%d}' % (number - 1) not in seen:
                seen += connection.recv(65_536)
        connection.sendall(b"0\r\n\r\n")
        while not seen.endswith(b"0\r\n\r\n"):
            seen += connection.recv(65_536)


def test_a_frame_for_each_line_of_a_burst(talk: Talk, engine: FakeEngine) -> None:
    engine.inserts_held, engine.inserts_room = True, 10_000
    talk.send(TARGET, *[{"ID": n} for n in range(1000)], end=True)
    assert until(lambda: engine.inserts and engine.inserts[0].taken == 1000)
    engine.inserts[0].arrive(1000)
    assert talk.read(2000) == ok(*range(1000))


@pytest.mark.parametrize("window", [60, 100, 1000, 4096])
def test_a_client_with_a_small_window(server: ServerThread, engine: FakeEngine, window: int) -> None:
    engine.inserts_held, engine.inserts_room = True, 10_000
    talk = Talk(server, window)
    talk.send(TARGET, *[{"ID": n} for n in range(300)], end=True)
    assert until(lambda: engine.inserts and engine.inserts[0].taken == 300)
    engine.inserts[0].arrive(300)
    assert talk.read(2000) == ok(*range(300))
    assert talk.ended
    talk.close()


def test_rows_go_to_the_thread_in_batches(talk: Talk, engine: FakeEngine) -> None:
    engine.inserts_held, engine.inserts_room = True, 10_000
    talk.send(TARGET, *[{"ID": n} for n in range(1000)], end=True)
    assert until(lambda: engine.inserts and engine.inserts[0].taken == 1000)
    assert len(engine.inserts[0].batches) < 20
    engine.inserts[0].arrive(1000)


@pytest.mark.parametrize("bad", [{"bad": 1}, "no object {"])
def test_a_bad_row_ends_it(client: httpx.Client, engine: FakeEngine, bad: object) -> None:
    content = body({"ID": 1}, {"ID": 2}) + b"\n" + (bad if isinstance(bad, str) else json.dumps(bad)).encode()
    answer = client.post("/inserts-stream", content=content + b'\n{"ID": 4}')
    assert answer.status_code == 200
    *good, last = (json.loads(line) for line in answer.text.splitlines())
    assert good == ok(0, 1)
    assert (last["status"], last["seq"], last["error_code"]) == ("error", 2, 40000)
    assert last["message"]
    assert engine.inserts[0].rows == [{"ID": 1}, {"ID": 2}]


def test_a_bad_row_waits_for_those_before_it(talk: Talk, engine: FakeEngine) -> None:
    engine.inserts_held = True
    talk.send(TARGET, {"ID": 1}, {"ID": 2}, {"bad": 1}, {"ID": 3})
    assert until(lambda: engine.inserts and engine.inserts[0].ended)
    engine.inserts[0].arrive(1)
    assert talk.read(1) == ok(0)
    engine.inserts[0].arrive(1)
    assert [a["seq"] for a in talk.read(2)] == [1, 2]
    assert talk.read(1) == []
    assert talk.ended


def test_what_comes_behind_a_bad_row_harms_nobody(talk: Talk, engine: FakeEngine, http2: httpx.Client) -> None:
    talk.send(TARGET, {"bad": 1})
    assert talk.read(1)[0]["status"] == "error"
    for _ in range(40):
        talk.send({"ID": 1}, {"ID": 2})
    talk.read(1)
    for _ in range(40):
        talk.send({"ID": 1}, {"ID": 2})  # the answer has ended
    # The connection goes on.
    talk.h2.send_headers(3, [*{":method": "GET", ":path": "/info", ":scheme": "http"}.items(),
                             (":authority", f"localhost:{talk.url.port}")], end_stream=True)  # fmt: skip
    talk.socket.sendall(talk.h2.data_to_send())
    seen: list[int] = []
    while 3 not in seen:
        for event in talk.h2.receive_data(talk.socket.recv(65_536)):
            seen += [event.stream_id] if isinstance(event, h2.events.DataReceived) else []
    assert engine.inserts[0].rows == []


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not JSON"),
        (b"\n\n", "not JSON"),
        (b'{"target": "rides"', "not JSON"),
        (b'["rides"]\n{"ID": 1}', "must be a JSON object"),
        (b'{"properties": {}}\n{"ID": 1}', "key 'target' of the request body is missing"),
        (b'{"target": 1}\n{"ID": 1}', "must be text"),
        (b'{"target": "nowhere"}\n{"ID": 1}', "there is no stream or table NOWHERE"),
        (b'{"target": "rides", "id": ""}\n', "key 'id' of the request body has characters that are not allowed"),
        (b'{"target": "rides", "id": "a/b"}\n', "has characters that are not allowed"),
        (b'{"target": "rides", "id": "a\\n"}\n', "has characters that are not allowed"),
        (b'{"target": "rides", "id": "' + b"x" * 101 + b'"}\n', "or too many of them"),
        (b'{"target": "rides", "id": 7}\n', "must be text"),
        (b'{"target": "rides", "seq": 0}\n', "key 'seq' of the request body needs key 'id'"),
        (b'{"target": "rides", "id": "a", "seq": -1}\n', "key 'seq' of the request body is wrong"),
        (b'{"target": "rides", "id": "a", "seq": true}\n', "must be a whole number"),
        (b'{"target": "rides", "id": "a", "seq": 1.0}\n', "must be a whole number"),
        (b'{"target": "rides", "id": "a", "seq": 9223372036854775807}\n', "key 'seq' of the request body is wrong"),
        (b'{"target": "rides", "properties": {"no.such": 1}}\n{"ID": 1}', "no.such"),
        (b'{"target": "rides", "properties": {"ksqlpy.port": 1}}\n', "is set when the server starts"),
    ],
)
def test_a_bad_first_line(client: httpx.Client, engine: FakeEngine, content: bytes, says: str) -> None:
    answer = client.post("/inserts-stream", content=content)
    assert answer.status_code == 400
    assert (answer.json()["@type"], answer.json()["error_code"]) == ("generic_error", 40000)
    assert says in answer.json()["message"]


def test_a_bad_first_line_is_answered_before_the_end(talk: Talk) -> None:
    talk.send({"target": "nowhere"}, {"ID": 1})
    assert talk.read(1)[0]["@type"] == "generic_error"
    assert talk.status == "400"


def test_media_types_and_states(client: httpx.Client, server: ServerThread, engine: FakeEngine) -> None:
    assert client.post("/inserts-stream", content=body({"ID": 1}), headers={"Accept": "text/html"}).status_code == 406
    assert client.get("/inserts-stream").status_code == 405
    assert client.post("/inserts-stream", content=body(), headers={"Host": "evil.example"}).status_code == 421
    server.backend.state = State.STARTING
    answer = client.post("/inserts-stream", content=body({"ID": 1}))
    assert (answer.status_code, answer.json()["error_code"]) == (503, 50302)
    assert engine.inserts == []


def test_a_long_line(client: httpx.Client, monkeypatch: pytest.MonkeyPatch, engine: FakeEngine) -> None:
    monkeypatch.setattr("ksqlpy.server.inserts.MAX_BODY", 2**16)
    answer = client.post("/inserts-stream", content=body({"ID": 1}, {"ID": "x" * 2**18}))
    good, bad = (json.loads(line) for line in answer.text.splitlines())
    assert (good, bad["seq"], bad["error_code"]) == (ok(0)[0], 1, 41300)
    answer = client.post("/inserts-stream", content=b"x" * 2**18)
    assert (answer.status_code, answer.json()["error_code"]) == (413, 41300)


def test_rows_in_all_sizes_of_pieces(http: httpx.Client, engine: FakeEngine) -> None:
    content = body(*[{"ID": n, "text": "é" * n} for n in range(20)])
    for size in (1, 7, 100, 1000):
        pieces = (content[i : i + size] for i in range(0, len(content), size))
        answer = http.post("/inserts-stream", content=pieces)
        assert [json.loads(line) for line in answer.text.splitlines()] == ok(*range(20))
        assert engine.inserts[-1].rows[19] == {"ID": 19, "text": "é" * 19}


def test_nothing_is_read_beyond_the_room(server: ServerThread, engine: FakeEngine) -> None:
    engine.inserts_held, engine.inserts_room = True, 10
    sent = 0
    url = httpx.URL(server.url)
    with socket.create_connection((url.host, url.port or 0), timeout=20) as connection:
        head = "POST /inserts-stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n"
        connection.sendall(head.encode() + b'{"target": "rides"}\n')
        connection.settimeout(1)
        row = b'{"text": "' + b"x" * 10_000 + b'"}\n'
        with pytest.raises(TimeoutError):
            while sent < 100 * AHEAD:
                sent += connection.send(row * 10)
        [inserts] = engine.inserts
        assert inserts.taken == 10
    inserts.room = 10**9
    inserts.arrive(10)  # from now on there is room, and it is seen that the client has left
    assert until(lambda: engine.inserts[0].closed)


def test_a_client_that_leaves(talk: Talk, engine: FakeEngine) -> None:
    talk.send(TARGET, {"ID": 1})
    assert talk.read(1) == ok(0)
    talk.h2.send_data(1, b'{"ID": 2')
    talk.socket.sendall(talk.h2.data_to_send())
    talk.close()
    assert until(lambda: engine.inserts[0].closed)
    assert engine.inserts[0].rows == [{"ID": 1}]  # what has not ended was no row


def test_a_client_that_resets_its_stream(talk: Talk, engine: FakeEngine) -> None:
    talk.send(TARGET, {"ID": 1})
    assert talk.read(1) == ok(0)
    talk.h2.reset_stream(1)
    talk.socket.sendall(talk.h2.data_to_send())
    assert until(lambda: engine.inserts[0].closed)


def test_a_client_that_reads_no_answer_until_it_has_sent_all(http2: httpx.Client, engine: FakeEngine) -> None:
    count = 20_000  # whose answers are more than a window
    answer = http2.post("/inserts-stream", content=body(*[{"ID": n} for n in range(count)]))
    assert answer.text.count("\n") == count
    assert answer.text.endswith(f'{{"status":"ok","seq":{count - 1}}}\n')


def test_a_stopping_server_tells_how_far_it_came(engine: FakeEngine) -> None:
    with ServerThread(engine) as server:
        talk = Talk(server)
        talk.send(TARGET, {"ID": 1}, {"ID": 2})
        assert talk.read(2) == ok(0, 1)
        stopping = threading.Thread(target=server.__exit__, args=(None, None, None))
        stopping.start()
        [last] = talk.read(1)
        assert (last["status"], last["seq"], last["error_code"]) == ("error", 2, 50303)
        talk.close()
        stopping.join()


def test_many_clients_at_one_time(server: ServerThread, engine: FakeEngine) -> None:
    def insert(number: int) -> str:
        rows = [{"ID": number, "n": n} for n in range(50)]
        return httpx.post(f"{server.url}/inserts-stream", content=body(*rows), trust_env=False).text

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(insert, range(40)))
    assert {a.count("ok") for a in answers} == {50}
    assert sorted(len(i.rows) for i in engine.inserts) == [50] * 40
